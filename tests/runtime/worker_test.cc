// The thread that makes answers: what comes first, and how much waits.
#include "runtime/admin/worker.h"

#include <future>
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

}  // namespace
}  // namespace baton::runtime
