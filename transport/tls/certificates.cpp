#include "transport/tls/certificates.hpp"

#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>

namespace troupe {
namespace {

template <class T, void (*Free)(T*)>
struct freed_by {
  void operator()(T* x) const { Free(x); }
};
using key_ptr = std::unique_ptr<EVP_PKEY, freed_by<EVP_PKEY, EVP_PKEY_free>>;
using certificate_ptr = std::unique_ptr<X509, freed_by<X509, X509_free>>;
using file_ptr = std::unique_ptr<BIO, freed_by<BIO, BIO_free_all>>;
using store_ptr = std::unique_ptr<X509_STORE, freed_by<X509_STORE, X509_STORE_free>>;
using store_context_ptr = std::unique_ptr<X509_STORE_CTX, freed_by<X509_STORE_CTX, X509_STORE_CTX_free>>;

void need(bool good, const char* what) {
  if (good) return;
  const auto code = ERR_get_error();
  throw std::runtime_error(std::string("OpenSSL cannot ") + what + ": " +
                           (code != 0 ? ERR_error_string(code, nullptr) : "unknown reason"));
}

key_ptr make_key() {
  key_ptr key(EVP_EC_gen("P-256"));
  need(key != nullptr, "make a key");
  return key;
}

void add_extension(X509* to, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, to, nullptr, nullptr, 0);
  X509_EXTENSION* e = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  need(e != nullptr, ("write the extension " + value).c_str());
  X509_add_ext(to, e, -1);
  X509_EXTENSION_free(e);
}

certificate_ptr blank_certificate(EVP_PKEY* key, const std::string& organisation, const std::string& name,
                                  int days) {
  certificate_ptr c(X509_new());
  need(c != nullptr, "make a certificate");
  X509_set_version(c.get(), X509_VERSION_3);
  unsigned char serial[16];
  need(RAND_bytes(serial, sizeof serial) == 1, "draw a serial number");
  serial[0] &= 0x7f;
  BIGNUM* number = BN_bin2bn(serial, sizeof serial, nullptr);
  BN_to_ASN1_INTEGER(number, X509_get_serialNumber(c.get()));
  BN_free(number);
  X509_gmtime_adj(X509_getm_notBefore(c.get()), -60);  // clocks differ a little
  X509_time_adj_ex(X509_getm_notAfter(c.get()), days, 0, nullptr);
  X509_set_pubkey(c.get(), key);
  auto* subject = X509_get_subject_name(c.get());
  const auto add = [&](const char* field, const std::string& text) {
    X509_NAME_add_entry_by_txt(subject, field, MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(text.c_str()), -1, -1, 0);
  };
  add("O", organisation);
  add("CN", name);
  return c;
}

certificate_ptr make_ca(EVP_PKEY* key, const std::string& cluster) {
  auto c = blank_certificate(key, cluster, cluster + " CA", 3650);
  X509_set_issuer_name(c.get(), X509_get_subject_name(c.get()));
  add_extension(c.get(), c.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  add_extension(c.get(), c.get(), NID_key_usage, "critical,keyCertSign,cRLSign");
  add_extension(c.get(), c.get(), NID_subject_key_identifier, "hash");
  need(X509_sign(c.get(), key, EVP_sha256()) > 0, "sign a certificate");
  return c;
}

bool is_address(const std::string& host) {
  ASN1_OCTET_STRING* a = a2i_IPADDRESS(host.c_str());
  ERR_clear_error();
  const bool yes = a != nullptr;
  ASN1_OCTET_STRING_free(a);
  return yes;
}

certificate_ptr issue(const certificate_request& r, EVP_PKEY* key, const std::string& cluster, X509* ca,
                      EVP_PKEY* ca_key, int days) {
  auto c = blank_certificate(key, cluster, r.name, days);
  X509_set_issuer_name(c.get(), X509_get_subject_name(ca));
  add_extension(c.get(), ca, NID_basic_constraints, "critical,CA:FALSE");
  add_extension(c.get(), ca, NID_key_usage, "critical,digitalSignature");
  add_extension(c.get(), ca, NID_ext_key_usage, "serverAuth,clientAuth");
  add_extension(c.get(), ca, NID_subject_key_identifier, "hash");
  add_extension(c.get(), ca, NID_authority_key_identifier, "keyid");
  std::string names;
  for (const auto& host : r.hosts) {
    // The extension is a list separated by commas: a host must be exactly one entry.
    if (host.empty() || host.find_first_of(",;= \t\r\n") != std::string::npos)
      throw std::runtime_error("'" + host + "' is neither a DNS name nor an IP address");
    names += (names.empty() ? "" : ",") + std::string(is_address(host) ? "IP:" : "DNS:") + host;
  }
  if (!names.empty()) add_extension(c.get(), ca, NID_subject_alt_name, names);
  need(X509_sign(c.get(), ca_key, EVP_sha256()) > 0, "sign a certificate");
  return c;
}

/// A new file that others cannot read while it is written; if `secret`, never.
template <class Write>
void write_new(const std::string& path, bool secret, const Write& write) {
  const int fd =
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, secret ? 0600 : 0644);
  if (fd < 0) throw std::runtime_error(path + ": " + std::strerror(errno));
  FILE* stream = fdopen(fd, "w");
  const file_ptr file(BIO_new_fp(stream, BIO_CLOSE));
  need(write(file.get()) == 1 && BIO_flush(file.get()) == 1, ("write " + path).c_str());
}

file_ptr open_file(const std::string& path) {
  file_ptr file(BIO_new_file(path.c_str(), "r"));
  if (!file) ERR_clear_error();
  return file;
}

certificate_ptr read_certificate(const std::string& path) {
  const auto file = open_file(path);
  certificate_ptr c(file ? PEM_read_bio_X509(file.get(), nullptr, nullptr, nullptr) : nullptr);
  ERR_clear_error();
  return c;
}

constexpr auto unencrypted_key = "private key without a pass phrase";

/// Otherwise OpenSSL asks for a pass phrase on the terminal.
int refuse_pass_phrase(char*, int, int, void*) { return -1; }

key_ptr read_key(const std::string& path) {
  const auto file = open_file(path);
  key_ptr k(file ? PEM_read_bio_PrivateKey(file.get(), nullptr, refuse_pass_phrase, nullptr) : nullptr);
  ERR_clear_error();
  return k;
}

std::string unreadable(const std::string& path, const char* expected) {
  struct stat s {};
  if (stat(path.c_str(), &s) != 0) return path + ": " + std::strerror(errno);
  return path + ": " +
         (access(path.c_str(), R_OK) != 0 ? std::strerror(errno) : std::string("holds no ") + expected);
}

void write_pair(const std::string& folder, const std::string& name, X509* certificate, EVP_PKEY* key,
                std::vector<std::string>& written) {
  const auto stem = folder + "/" + name;
  write_new(stem + ".key", true, [&](BIO* out) {
    return PEM_write_bio_PKCS8PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
  written.push_back(stem + ".key");
  write_new(stem + ".pem", false, [&](BIO* out) { return PEM_write_bio_X509(out, certificate); });
  written.push_back(stem + ".pem");
}

}  // namespace

std::vector<std::string> make_certificates(const std::string& folder, const std::string& cluster,
                                           const std::vector<certificate_request>& requests, int days) {
  namespace fs = std::filesystem;
  for (const auto& r : requests)
    for (const auto* end : {".pem", ".key"})
      if (const auto path = folder + "/" + r.name + end; fs::exists(path))
        throw std::runtime_error(path + " exists already; remove it first if it is to be replaced");
  const auto ca_files = tls_files_in(folder, "ca");
  const bool have_ca = fs::exists(ca_files.certificate);
  if (have_ca != fs::exists(ca_files.key))
    throw std::runtime_error(folder + " holds only one of ca.pem and ca.key; both are needed to sign more");
  std::error_code failed;
  if (!fs::exists(folder)) {
    fs::create_directories(folder, failed);
    fs::permissions(folder, fs::perms::owner_all, failed);
  }
  if (failed) throw std::runtime_error(folder + ": " + failed.message());

  std::vector<std::string> written;
  auto ca = have_ca ? read_certificate(ca_files.certificate) : nullptr;
  auto ca_key = have_ca ? read_key(ca_files.key) : make_key();
  if (have_ca && !ca) throw std::runtime_error(unreadable(ca_files.certificate, "certificate"));
  if (!ca_key) throw std::runtime_error(unreadable(ca_files.key, unencrypted_key));
  if (!ca) {
    ca = make_ca(ca_key.get(), cluster);
    write_pair(folder, "ca", ca.get(), ca_key.get(), written);
  }
  for (const auto& r : requests) {
    const auto key = make_key();
    const auto certificate = issue(r, key.get(), cluster, ca.get(), ca_key.get(), days);
    write_pair(folder, r.name, certificate.get(), key.get(), written);
  }
  return written;
}

std::string certificate_problem(const tls_files& files, const std::string& host, std::time_t now) {
  const auto ca = read_certificate(files.ca);
  if (!ca) return unreadable(files.ca, "certificate");
  const auto certificate = read_certificate(files.certificate);
  if (!certificate) return unreadable(files.certificate, "certificate");
  const auto key = read_key(files.key);
  if (!key) return unreadable(files.key, unencrypted_key);
  struct stat s {};
  if (stat(files.key.c_str(), &s) == 0 && (s.st_mode & S_IROTH) != 0)
    return files.key + ": every user of this host can read it; chmod o-r " + files.key;
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    ERR_clear_error();
    return files.key + ": is not the key of " + files.certificate;
  }

  const store_ptr store(X509_STORE_new());
  X509_STORE_add_cert(store.get(), ca.get());
  const store_context_ptr check(X509_STORE_CTX_new());
  X509_STORE_CTX_init(check.get(), store.get(), certificate.get(), nullptr);
  X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(check.get()), now);
  if (X509_verify_cert(check.get()) != 1) {
    const int why = X509_STORE_CTX_get_error(check.get());
    const auto& culprit = X509_STORE_CTX_get_error_depth(check.get()) > 0 ? files.ca : files.certificate;
    ERR_clear_error();
    return culprit + ": " + X509_verify_cert_error_string(why) +
           (why == X509_V_ERR_CERT_HAS_EXPIRED
                ? "; remove it and its key, and make new ones with troupe certs"
            : why == X509_V_ERR_CERT_NOT_YET_VALID ? ""
                                                   : "; it must be signed by " + files.ca);
  }
  const bool named = host.empty() || X509_check_ip_asc(certificate.get(), host.c_str(), 0) == 1 ||
                     X509_check_host(certificate.get(), host.data(), host.size(), 0, nullptr) == 1;
  ERR_clear_error();
  return named ? "" : files.certificate + ": does not name the host '" + host + "' of its node";
}

}  // namespace troupe
