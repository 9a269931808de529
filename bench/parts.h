// The bench's parts: each measures one thing and adds its rows to the report.
//
// A part that can't run (no etcd, a node that never gets ready) throws
// std::runtime_error with one line. Run them one after another, on the main thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/report.h"

namespace baton::bench {

struct Settings {
  int repeat = 5;
  bool quick = false;  ///< fewer sizes
  int steady_seconds = 30;
  std::string batond;     ///< the program's path
  std::string self;       ///< this program's
  std::string go_recipe;  ///< where go_recipe/main.go is, if it was built
  std::string kv_server;  ///< where examples/kv's server is, if it was built

  /// Shard counts that parts (a) and (b) go through.
  std::vector<std::uint32_t> sizes() const {
    if (quick) return {1'000, 10'000};
    return {1'000, 10'000, 100'000};
  }
};

/// (a) One node claims every shard, against etcd's other ways; three nodes share them.
void MeasureElection(const Settings& settings, Report& report);
/// (b) One of three daemons is killed: from its member key's deletion to the last record's new
/// name.
void MeasureFailover(const Settings& settings, Report& report);
/// (c) What three daemons and etcd spend while the group is idle.
void MeasureSteadyState(const Settings& settings, Report& report);
/// (d) A third of the shards move at once.
void MeasureHandoff(const Settings& settings, Report& report);
/// (e) What a call of Leads() costs.
void MeasureLeads(const Settings& settings, Report& report);
/// (f) The pure part: assignment and plan of 100,000 shards over 1,000 nodes.
void MeasureAssignment(const Settings& settings, Report& report);
/// (g) What reading a route costs.
void MeasureLookups(const Settings& settings, Report& report);
/// (h) The application of one of three daemons, a separate process, is killed.
void MeasureSidecar(const Settings& settings, Report& report);
/// (i) A thousand callers follow one relay, compared with as many bare gRPC streams.
void MeasureFanOut(const Settings& settings, Report& report);
/// (j) What a stale route costs its caller.
void MeasureRedirects(const Settings& settings, Report& report);
/// (k) What a scrape of each shard's series costs a daemon.
void MeasureScrapes(const Settings& settings, Report& report);
/// (l) What TLS with client certificates costs callers.
void MeasureTls(const Settings& settings, Report& report);
/// (m) One of three daemons is killed, with and without guards, and a process of etcd's Go recipe:
/// from the SIGKILL to the last shard's new leader.
void MeasureGuarded(const Settings& settings, Report& report);
/// (n) One of three nodes whose shards take 2 s to load is killed, with and without standbys: from
/// the SIGKILL until its shards are served again. The same for examples/kv, until its callers get
/// answers again.
void MeasureStandbys(const Settings& settings, Report& report);

}  // namespace baton::bench
