// World: virtual time, the events, and the trace of a simulation.
//
// Events run one after another, by time; events of the same time run in the order in which they
// were asked for. Nothing depends on pointers, real clocks or unordered iteration, so one seed
// gives one run: TraceHash() is the same on every machine.
//
// For one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "sim/faults.h"
#include "sim/injection.h"
#include "sim/random.h"

namespace baton::sim {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

class World {
 public:
  World(std::uint64_t seed, bool verbose) : random_(seed), verbose_(verbose) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  TimePoint now() const { return now_; }
  Random& random() { return random_; }

  void At(TimePoint when, std::function<void()> event);
  void After(Duration delay, std::function<void()> event) { At(now_ + delay, std::move(event)); }
  /// Runs what is due until `end`, or until Stop is called.
  void RunUntil(TimePoint end);
  void Stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }
  /// Events went on without end while time hardly moved; the world has stopped.
  bool livelocked() const { return livelocked_; }
  std::uint64_t events() const { return events_; }
  std::size_t waiting() const { return heap_.size(); }

  /// The fault struck processes or exchanges in these phases. If there are none, it struck nothing
  /// live and does not count.
  void Hit(Fault fault, Phases struck);
  /// It struck all that took part.
  void HitEverybody(Fault fault) { Hit(fault, everybody_ ? everybody_() : Phases{}); }
  /// Sets what tells the phases of all that took part, for HitEverybody.
  void TellEverybody(std::function<Phases()> everybody) { everybody_ = std::move(everybody); }
  /// A process sends a call of this phase, or opens a stream.
  void Began(int process, Phase phase) {
    if (began_) began_(process, phase);
  }
  void TellBegun(std::function<void(int process, Phase phase)> began) { began_ = std::move(began); }
  const FaultCounts& faults() const { return faults_; }
  const FaultTable& fault_table() const { return fault_table_; }
  std::uint64_t fault_total() const;
  /// Which of the faults that are drawn happen.
  Injection& injection() { return injection_; }
  const Injection& injection() const { return injection_; }

  // The trace. Numbers go into the hash; words only appear in a verbose run.
  void Trace(std::uint64_t what, std::int64_t a, std::int64_t b);
  std::uint64_t TraceHash() const { return hash_; }
  bool verbose() const { return verbose_; }
  /// Prints one line with the time. Callers build long texts only if verbose().
  void Say(std::string_view line) const;

 private:
  struct Entry {
    TimePoint when;
    std::uint64_t number;
    std::uint32_t slot;
    bool operator>(const Entry& other) const {
      return when != other.when ? when > other.when : number > other.number;
    }
  };

  Random random_;
  const bool verbose_;
  TimePoint now_{};
  bool stopped_ = false;
  bool livelocked_ = false;
  TimePoint counted_since_{};
  std::uint64_t counted_ = 0;
  std::uint64_t next_number_ = 0;
  std::uint64_t events_ = 0;
  std::vector<Entry> heap_;
  std::vector<std::function<void()>> slots_;
  std::vector<std::uint32_t> free_slots_;
  FaultCounts faults_{};
  FaultTable fault_table_;
  std::function<Phases()> everybody_;
  std::function<void(int, Phase)> began_;
  Injection injection_;
  std::uint64_t hash_ = 14695981039346656037ull;
};

}  // namespace baton::sim
