// Ask makes one call of the transport and waits for the answer. For threads that may block: not the
// loop's.
#pragma once

#include <future>
#include <memory>
#include <utility>

#include "etcd/transport.h"

namespace baton::etcd {

/// Runs `call` with a handler, which `call` must give to the transport; waits for the reply.
/// Returns by the call's deadline at the latest.
template <typename Response, typename Call>
Reply<Response> Ask(Call call) {
  auto answer = std::make_shared<std::promise<Reply<Response>>>();
  auto waiting = answer->get_future();
  call([answer](Reply<Response> reply) { answer->set_value(std::move(reply)); });
  return waiting.get();
}

}  // namespace baton::etcd
