// The thread that makes answers: what comes first, and how much waits.
#include "runtime/admin/worker.h"

#include <chrono>
#include <future>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace baton::runtime {
namespace {

using Urgency = Worker::Urgency;

// Plan: a task holds the thread. Meanwhile both queues are filled beyond their bounds.
TEST(WorkerTest, UrgentTasksRunFirstAndHavePlacesOfTheirOwn) {
  std::string order;
  std::promise<void> running, release;  // the task may still use them when the posts are done
  {
    Worker worker(2);
    ASSERT_TRUE(worker.Post([&] {
      running.set_value();
      release.get_future().wait();
    }));
    running.get_future().wait();
    for (const char name : {'a', 'b', 'c'}) {
      EXPECT_EQ(worker.Post([&order, name] { order += name; }), name != 'c') << name;
    }
    for (const char name : {'1', '2', '3'}) {
      EXPECT_EQ(worker.Post([&order, name] { order += name; }, Urgency::kUrgent), name != '3')
          << name;
    }
    release.set_value();
  }
  EXPECT_EQ(order, "12ab");
}

// Plan: a task stands still. The end does not wait for it, and takes nothing more; the task before
// the end still runs once the other one goes on.
TEST(WorkerTest, ATaskThatStandsStillHoldsUpNoEndWithABound) {
  struct Promises {
    std::promise<void> running, release, ran;
  };
  const auto promises = std::make_shared<Promises>();
  {
    Worker worker(2);
    ASSERT_TRUE(worker.Post([promises] {
      promises->running.set_value();
      promises->release.get_future().wait();
    }));
    promises->running.get_future().wait();
    ASSERT_TRUE(worker.Post([promises] { promises->ran.set_value(); }));
    EXPECT_FALSE(worker.End({}));
    EXPECT_FALSE(worker.Post([] { FAIL() << "it was taken after the end"; }));
  }
  promises->release.set_value();
  promises->ran.get_future().wait();
}

TEST(WorkerTest, AnEndWithABoundRunsWhatWaits) {
  bool ran = false;
  Worker worker(2);
  ASSERT_TRUE(worker.Post([&ran] { ran = true; }));
  EXPECT_TRUE(worker.End(std::chrono::hours(1)));
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace baton::runtime
