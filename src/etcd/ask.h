// Ask: one call of the transport, waited for. For threads that may wait: not the loop's.
#pragma once

#include <future>
#include <memory>
#include <utility>

#include "etcd/transport.h"

namespace baton::etcd {

/// `call` starts the call with the handler it is given. Answers by the call's deadline at the
/// latest.
template <typename Response, typename Call>
Reply<Response> Ask(Call call) {
  auto answer = std::make_shared<std::promise<Reply<Response>>>();
  auto waiting = answer->get_future();
  call([answer](Reply<Response> reply) { answer->set_value(std::move(reply)); });
  return waiting.get();
}

}  // namespace baton::etcd
