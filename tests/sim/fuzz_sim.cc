// A fuzzer's bytes are a run's schedule (steering.h). A violation aborts the program after it said
// what was broken and what the bytes mean.
//
// Built with libFuzzer by tests/sim/fuzz; replay_corpus runs the same function on files.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "sim/quiet_log.h"
#include "sim/simulation.h"
#include "sim/steering.h"

namespace baton::sim {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr int kSeedChangesPerMille = 50;

RunResult RunSteered(const Steering& steering) {
  return Simulation(RunOptions{.seed = steering.seed(),
                               .first = steering.mishaps(),
                               .forced = steering.exchanges()})
      .Run();
}

std::size_t RecordsOf(const Bytes& bytes) {
  if (bytes.size() < Steering::kSeedBytes) return 0;
  return (bytes.size() - Steering::kSeedBytes) / Steering::kRecordBytes;
}

Bytes::iterator RecordAt(Bytes& bytes, std::size_t number) {
  return bytes.begin() +
         static_cast<std::ptrdiff_t>(Steering::kSeedBytes + number * Steering::kRecordBytes);
}

// One mutation makes several of these in a row.
void InsertOne(Bytes& bytes, Random& random) {
  Bytes record;
  for (std::size_t i = 0; i < Steering::kRecordBytes; ++i) {
    record.push_back(static_cast<std::uint8_t>(random.Below(256)));
  }
  bytes.insert(RecordAt(bytes, random.Below(RecordsOf(bytes) + 1)), record.begin(), record.end());
}

void RepeatOne(Bytes& bytes, Random& random) {
  const auto from = RecordAt(bytes, random.Below(RecordsOf(bytes)));
  const Bytes record(from, from + Steering::kRecordBytes);
  bytes.insert(RecordAt(bytes, random.Below(RecordsOf(bytes) + 1)), record.begin(), record.end());
}

void EraseOne(Bytes& bytes, Random& random) {
  const auto from = RecordAt(bytes, random.Below(RecordsOf(bytes)));
  bytes.erase(from, from + Steering::kRecordBytes);
}

void ChangeOne(Bytes& bytes, Random& random) {
  const bool seed = RecordsOf(bytes) == 0 || random.Chance(kSeedChangesPerMille);
  const std::size_t at =
      seed ? random.Below(Steering::kSeedBytes)
           : Steering::kSeedBytes + random.Below(RecordsOf(bytes) * Steering::kRecordBytes);
  bytes[at] = static_cast<std::uint8_t>(random.Below(256));
}

void Mutate(Bytes& bytes, Random& random) {
  const bool some = RecordsOf(bytes) > 0;
  switch (random.Below(4)) {
    case 0: return InsertOne(bytes, random);
    case 1: return some ? RepeatOne(bytes, random) : InsertOne(bytes, random);
    case 2: return some ? EraseOne(bytes, random) : InsertOne(bytes, random);
    default: return ChangeOne(bytes, random);
  }
}

std::size_t Give(const Bytes& bytes, std::uint8_t* data, std::size_t most) {
  const std::size_t size = std::min(bytes.size(), most);
  std::copy_n(bytes.begin(), size, data);
  return size;
}

}  // namespace
}  // namespace baton::sim

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  baton::sim::QuietLog(false);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const baton::sim::Steering steering({data, size});
  const baton::sim::RunResult result = baton::sim::RunSteered(steering);
  if (result.violations.empty()) return 0;
  for (const std::string& violation : result.violations) std::puts(violation.c_str());
  std::fputs(steering.Text().c_str(), stdout);
  std::fflush(stdout);
  std::abort();
}

// Inserts, removes and changes whole records, so that the other records keep their meaning.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned int seed) {
  baton::sim::Random random(seed);
  baton::sim::Bytes bytes(data, data + size);
  bytes.resize(std::max(size, baton::sim::Steering::kSeedBytes));
  for (int i = random.Between(1, 4); i > 0; --i) baton::sim::Mutate(bytes, random);
  return baton::sim::Give(bytes, data, most);
}

// Takes the seed and first records of one input, and the last ones of the other.
extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* one, std::size_t one_size,
                                                 const std::uint8_t* other, std::size_t other_size,
                                                 std::uint8_t* out, std::size_t most,
                                                 unsigned int seed) {
  using baton::sim::RecordAt;
  using baton::sim::RecordsOf;
  baton::sim::Random random(seed);
  baton::sim::Bytes first(one, one + one_size);
  baton::sim::Bytes last(other, other + other_size);
  first.resize(std::max(one_size, baton::sim::Steering::kSeedBytes));
  last.resize(std::max(other_size, baton::sim::Steering::kSeedBytes));
  first.erase(RecordAt(first, random.Below(RecordsOf(first) + 1)), first.end());
  first.insert(first.end(), RecordAt(last, random.Below(RecordsOf(last) + 1)), last.end());
  return baton::sim::Give(first, out, most);
}
