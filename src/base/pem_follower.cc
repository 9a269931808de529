#include "base/pem_follower.h"

#include <utility>
#include <vector>

#include "base/small_file.h"

namespace baton {

Result<PemTexts> ReadPems(const PemFiles& files) {
  PemTexts texts;
  const std::pair<const std::string&, std::string&> each[] = {
      {files.ca, texts.ca}, {files.cert, texts.cert}, {files.key, texts.key}};
  for (const auto& [path, text] : each) {
    if (path.empty()) continue;
    Result<std::string> read = ReadSmallFile(path);
    if (!read) return read.error();
    text = WithoutLineEnds(std::move(read).value());
    if (text.empty()) return Error{ErrorCode::kInvalidArgument, path + " is empty"};
  }
  return texts;
}

PemFollower::PemFollower(const PemFiles& files, const PemTexts& used, Use use)
    : use_(std::move(use)),
      files_({{files.ca, used.ca}, {files.cert, used.cert}, {files.key, used.key}}),
      thread_([this] { Run(); }) {}

PemFollower::~PemFollower() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ended_.notify_one();
  thread_.join();
}

std::string PemFollower::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

void PemFollower::Run() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, kLookAtPems, [this] { return over_; })) {
    lock.unlock();
    files_.Look([this](const std::vector<std::string>& contents) {
      return use_({.ca = contents[0], .cert = contents[1], .key = contents[2]});
    });
    lock.lock();
    problem_ = files_.trouble();
  }
}

}  // namespace baton
