// Asynchronous UCX calls as objects. An operation owns itself from its first call to its last `finished`.
#pragma once
#include <ucp/api/ucp.h>

namespace troupe::ucx {

class operation {
 public:
  virtual ~operation() = default;
  /// One call of this operation has ended. Starts the next one, or deletes the operation. Runs inside UCX: it
  /// must neither throw nor call ucp_worker_progress.
  virtual void finished(ucs_status_t status) noexcept = 0;

  /// Parameters of a call that reports its end to this operation.
  ucp_request_param_t parameters(uint32_t flags = 0) {
    ucp_request_param_t p{};
    p.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS |
                     UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    p.flags = flags;
    p.cb.send = [](void* request, ucs_status_t status, void* self) {
      ucp_request_free(request);
      static_cast<operation*>(self)->finished(status);
    };
    p.memory_type = UCS_MEMORY_TYPE_HOST;
    p.user_data = this;
    return p;
  }

  /// Takes the return value of the call: null means done and an error means failed, both without callback.
  void started(ucs_status_ptr_t returned) {
    if (returned == nullptr || UCS_PTR_IS_ERR(returned)) finished(UCS_PTR_STATUS(returned));
  }
};

}  // namespace troupe::ucx
