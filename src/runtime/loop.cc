#include "runtime/loop.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace baton::runtime {

namespace asio = boost::asio;

struct Loop::State {
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  asio::steady_timer turn{context};
};

Loop::Loop() : state_(std::make_unique<State>()) {
  Turn();
  thread_ = std::thread([this] { state_->context.run(); });
}

Loop::~Loop() { End(); }

void Loop::End() {
  if (!thread_.joinable()) return;
  asio::post(state_->context, [this] {
    state_->turn.cancel();
    state_->work.reset();
    state_->context.stop();
  });
  thread_.join();
}

void Loop::Turn() {
  last_turn_.store(BootClock::now().time_since_epoch().count(), std::memory_order_relaxed);
  state_->turn.expires_after(kTurn);
  state_->turn.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) Turn();
  });
}

void Loop::Post(std::function<void()> function) {
  asio::post(state_->context, std::move(function));
}

void Loop::Schedule(Duration delay, std::function<void()> function) {
  auto timer = std::make_shared<asio::steady_timer>(state_->context);
  timer->expires_after(delay);
  timer->async_wait(
      [timer, function = std::move(function)](const boost::system::error_code& cancelled) {
        if (!cancelled) function();
      });
}

TimePoint Loop::LastTurn() const noexcept {
  return TimePoint(Duration(last_turn_.load(std::memory_order_relaxed)));
}

bool Loop::OnLoop() const { return std::this_thread::get_id() == thread_.get_id(); }

}  // namespace baton::runtime
