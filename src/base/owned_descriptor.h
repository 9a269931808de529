// OwnedDescriptor: closes a file descriptor in its destructor. This also releases the locks that
// belong to the open file (flock, F_OFD_SETLK), if no other descriptor refers to the same open
// file.
//
// Not thread-safe.
#pragma once

#include <unistd.h>

#include <utility>

namespace baton {

class OwnedDescriptor {
 public:
  /// `value`: an open descriptor, which this object owns from now on. Below 0: there is no
  /// descriptor, and nothing is closed. A moved-from object has -1.
  explicit OwnedDescriptor(int value) : value_(value) {}
  OwnedDescriptor(OwnedDescriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  ~OwnedDescriptor() {
    if (value_ >= 0) close(value_);
  }
  OwnedDescriptor& operator=(OwnedDescriptor&&) = delete;

  int get() const { return value_; }

 private:
  int value_;
};

}  // namespace baton
