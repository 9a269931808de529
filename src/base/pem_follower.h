// PemFollower: certificates in files that are read again while a program runs.
//
// Thread-safe. It has one thread, which reads the files every kLookAtPems. A pipe or a character
// device gives its content only once, so it is not read again. If a file can't be read or is empty,
// the earlier texts stay in use; problem() says why.
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
  /// Gets all texts after a read in which one of them differs from the texts in use. Nobody has
  /// checked them: call CheckPem. If this function returns OK, these are the texts in use. If it
  /// returns an error, the earlier texts stay in use. Then it is called again after every read,
  /// even with the same texts, until it returns OK or the files have the texts in use again.
  using Use = std::function<Status(const PemTexts& texts)>;

  /// `used`: the texts in use now, as ReadPems returned them. The thread reads the files for the
  /// first time after kLookAtPems. It calls `use` without a lock, and never after the destructor
  /// has returned. Throws std::system_error if the host lacks threads. REQUIRES (not checked):
  /// `use` doesn't destroy this object.
  PemFollower(const PemFiles& files, const PemTexts& used, Use use);
  /// Waits until the present read and the present call of `use` are over; a read lasts as long as
  /// the file system takes. The texts in use then stay in use.
  ~PemFollower();
  PemFollower(const PemFollower&) = delete;
  PemFollower& operator=(const PemFollower&) = delete;

  /// Why the files' present texts are not used; empty: no reason is known. An error is shown once
  /// two reads in a row have found it (see ChangingFiles::trouble), until a read does not find it.
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
