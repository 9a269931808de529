// Ask makes one call of the transport and waits for the answer. It is for threads that may block,
// so not for the loop or the transport's threads.
#pragma once

#include <future>
#include <memory>
#include <utility>

#include "etcd/transport.h"

namespace baton::etcd {

/// Runs `call` with a handler and waits for the handler's reply. REQUIRES: `call` passes the
/// handler to one unary call of the transport. The wait ends soon after that call's deadline at the
/// latest.
template <typename Response, typename Call>
Reply<Response> Ask(Call call) {
  auto answer = std::make_shared<std::promise<Reply<Response>>>();
  auto waiting = answer->get_future();
  call([answer](Reply<Response> reply) { answer->set_value(std::move(reply)); });
  return waiting.get();
}

}  // namespace baton::etcd
