#include "base/server_identity.h"

#include <utility>

namespace baton {

Result<std::shared_ptr<ServerIdentity>> ServerIdentity::Create(PemTexts texts,
                                                               ClientCertificates clients) {
  const std::shared_ptr<ServerIdentity> identity(new ServerIdentity(clients));
  if (const Status set = identity->Set(std::move(texts)); !set) return set.error();
  return identity;
}

Status ServerIdentity::Set(PemTexts texts) {
  if (texts.ca.empty() && clients_ != ClientCertificates::kNone) {
    return Error{ErrorCode::kInvalidArgument,
                 "to check clients' certificates a server needs their CA certificate"};
  }
  auto context = ServerContext(texts, clients_);
  if (!context) return context.error();
  const std::lock_guard lock(mutex_);
  const std::uint64_t generation = pems_ != nullptr ? pems_->generation + 1 : 1;
  pems_ = std::make_shared<const Pems>(Pems{std::move(texts), generation, *std::move(context)});
  return Ok();
}

std::shared_ptr<const ServerIdentity::Pems> ServerIdentity::Get() const {
  const std::lock_guard lock(mutex_);
  return pems_;
}

}  // namespace baton
