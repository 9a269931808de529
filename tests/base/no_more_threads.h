// NoMoreThreads: while one lives, this process can't start threads.
#pragma once

#include <pthread.h>

#include <cstddef>

namespace baton {

/// New threads ask for a stack that fits into no address space, so they can't start.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t none;
    pthread_getattr_default_np(&none);
    pthread_attr_setstacksize(&none, std::size_t{1} << 47);
    pthread_setattr_default_np(&none);
    pthread_attr_destroy(&none);
  }
  ~NoMoreThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  NoMoreThreads(const NoMoreThreads&) = delete;
  NoMoreThreads& operator=(const NoMoreThreads&) = delete;

 private:
  pthread_attr_t before_;
};

}  // namespace baton
