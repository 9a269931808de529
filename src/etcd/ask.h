// Ask makes one call of the transport and waits for the answer. Call it on threads that may block,
// never on the loop or on a thread of the transport.
#pragma once

#include <future>
#include <memory>
#include <utility>

#include "etcd/transport.h"

namespace baton::etcd {

/// Calls `call` with a handler, waits until the handler gets the reply, and returns the reply. The
/// wait ends soon after the call's deadline at the latest. REQUIRES (not checked): `call` makes one
/// unary call of the transport, and passes the handler to that call.
template <typename Response, typename Call>
Reply<Response> Ask(Call call) {
  auto answer = std::make_shared<std::promise<Reply<Response>>>();
  auto waiting = answer->get_future();
  call([answer](Reply<Response> reply) { answer->set_value(std::move(reply)); });
  return waiting.get();
}

}  // namespace baton::etcd
