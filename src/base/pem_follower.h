// PemFollower: certificates in files that are read again while a program runs.
//
// Thread-safe. It has one thread, which reads the files every kLookAtPems. A pipe or a character
// device gives its content only once, so it is not read again.
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

/// Paths of files; empty: the file is not given.
struct PemFiles {
  std::string ca = {};
  std::string cert = {};
  std::string key = {};
};

/// Reads the given files, without checking their contents, and takes off line ends at their ends.
/// Blocks as long as the file system does, and waits for the writer of a pipe. kInvalidArgument: a
/// file can't be read, is larger than 1 MiB, or has nothing but line ends.
Result<PemTexts> ReadPems(const PemFiles& files);

class PemFollower {
 public:
  /// Gets the texts after a change. If it returns an error, the earlier texts stay in use, and it
  /// is called again with the next read.
  using Use = std::function<Status(const PemTexts& texts)>;

  /// `used`: the result of ReadPems. `use` is called on the follower's thread, and not after this
  /// object's end. REQUIRES: `use` doesn't destroy this object.
  PemFollower(const PemFiles& files, const PemTexts& used, Use use);
  /// Waits until the present read and the present call of `use` are over.
  ~PemFollower();
  PemFollower(const PemFollower&) = delete;
  PemFollower& operator=(const PemFollower&) = delete;

  /// Why changed texts are not used; empty: no reason is known. An error is shown when two reads in
  /// a row found the same one (see ChangingFiles::trouble).
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
