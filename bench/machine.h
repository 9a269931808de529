// The machine that figures were taken on.
#pragma once

#include <string>

namespace baton::bench {

struct Machine {
  std::string processor;
  long cores = 0;
  std::string memory;
  std::string kernel;
  std::string etcd;      ///< version
  std::string compiler;  ///< with the kind of build
  std::string date;      ///< UTC
  double load = 0;       ///< of the last minute, before the bench began
};

/// Processor time since the machine's start, of all cores.
struct ProcessorTime {
  double all = 0;
  double stolen = 0;  ///< a core had work, but the hypervisor ran something else
};
ProcessorTime ReadProcessorTime();

/// Processor time of the calling thread: whatever else the machine does, it does not count.
double ThreadSeconds();

/// Starts a private etcd to ask its version; throws std::runtime_error if there is none.
Machine DescribeMachine();

}  // namespace baton::bench
