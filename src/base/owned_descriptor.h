// OwnedDescriptor: closes a file descriptor in its destructor. If no other descriptor refers to the
// same open file, the close also releases the file's locks (flock, F_OFD_SETLK).
//
// Not thread-safe.
#pragma once

#include <unistd.h>

#include <utility>

namespace baton {

class OwnedDescriptor {
 public:
  /// `value`: an open descriptor, which this object owns from now on. If `value` is below 0, there
  /// is no descriptor, and nothing is closed. After a move, the object that was moved from has -1.
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
