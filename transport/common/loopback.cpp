#include "transport/common/loopback.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "transport/common/patient_call.hpp"

namespace troupe {
namespace {

bool is_loopback(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return ntohl(v4.sin_addr.s_addr) >> 24 == 127;
  }
  if (address.sa_family != AF_INET6) return false;
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
}

bool look_up(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (host.empty() || getaddrinfo(host.c_str(), nullptr, &hints, &list) != 0) return false;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(list, &freeaddrinfo);
  for (const auto* i = list; i != nullptr; i = i->ai_next)
    if (!is_loopback(*i->ai_addr)) return false;
  return list != nullptr;
}

std::function<void(const std::string&)>& slow_lookup_notice() {
  static std::function<void(const std::string&)> notice;
  return notice;
}

}  // namespace

bool is_loopback(const std::string& host) {
  static std::mutex mutex;
  static std::map<std::string, bool, std::less<>> known;
  const std::lock_guard lock(mutex);
  const auto found = known.find(host);
  if (found != known.end()) return found->second;
  const auto& notice = slow_lookup_notice();
  const bool answer = patient_call([&host] { return look_up(host); }, 1s,
                                   [&] {
                                     if (notice) notice(host);
                                   });
  return known[host] = answer;
}

void on_slow_lookup(std::function<void(const std::string&)> notice) {
  slow_lookup_notice() = std::move(notice);
}

}  // namespace troupe
