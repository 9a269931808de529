#include "baton/grpc.h"
#include "runtime/admin/admin_service.h"

namespace baton {

std::unique_ptr<AdminService> RegisterAdminService(grpc::ServerBuilder& builder, Node& node,
                                                   AdminOptions options) {
  return runtime::RegisterAdminService(builder, node.control(), options);
}

}  // namespace baton
