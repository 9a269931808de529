// PemFollower: certificates in files that are read again while a program runs.
//
// Thread-safe. It runs one thread, which looks at the files every kLookAtPems.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "base/changing_files.h"
#include "base/pem.h"
#include "baton/result.h"

namespace baton {

inline constexpr std::chrono::milliseconds kLookAtPems{500};

/// Paths; an empty one is not given.
struct PemFiles {
  std::string ca = {};
  std::string cert = {};
  std::string key = {};
};

/// Reads them, without checking what they say. kInvalidArgument: a file can't be read or is empty.
Result<PemTexts> ReadPems(const PemFiles& files);

class PemFollower {
 public:
  /// Gets texts that changed. An error: they don't fit; the earlier ones stay in use, and the next
  /// look calls it again.
  using Use = std::function<Status(const PemTexts& texts)>;

  /// `used`: what ReadPems returned. `use` is called on the follower's thread, until this object is
  /// destroyed, and must not destroy it.
  PemFollower(const PemFiles& files, const PemTexts& used, Use use);
  /// Waits for a look that goes on, and so for the file system and for `use`.
  ~PemFollower();
  PemFollower(const PemFollower&) = delete;
  PemFollower& operator=(const PemFollower&) = delete;

  /// As ChangingFiles::trouble says.
  std::string problem() const;

 private:
  void Run();

  const Use use_;
  ChangingFiles files_;       // only the thread uses it
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable ended_;
  bool over_ = false;
  std::string problem_;
  std::thread thread_;  // last, because it uses the other members
};

}  // namespace baton
