#include "bench/election_watch.h"

#include <cstdlib>
#include <stdexcept>

namespace baton::bench {

ElectionWatch::ElectionWatch(const lab::PrivateEtcd& etcd, const std::string& prefix,
                             std::uint32_t shards)
    : prefix_(prefix + "/"), lines_(shards) {
  etcd::GrpcTransportOptions options;
  options.endpoints = etcd.endpoints();
  auto transport = etcd::GrpcTransport::Create(std::move(options));
  if (!transport) throw std::runtime_error(transport.error().message);
  transport_ = std::move(transport).value();
  etcdserverpb::WatchCreateRequest request;
  request.set_key(prefix_);
  request.set_range_end(prefix + "0");  // '0' follows '/'
  request.set_start_revision(1);
  etcd::WatchHandler handler;
  handler.response = [this](const etcdserverpb::WatchResponse& response) { Take(response); };
  handler.ended = [](const etcd::CallStatus&) {};  // then the awaited events do not come
  stream_ = transport_->OpenWatch(request, "", std::move(handler));
}

ElectionWatch::~ElectionWatch() { stream_.reset(); }

std::size_t ElectionWatch::Candidates() const {
  const std::lock_guard lock(mutex_);
  return places_.size();
}

std::map<std::string, std::uint32_t> ElectionWatch::Leaders() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::uint32_t> leaders;
  for (const Line& line : lines_) {
    if (!line.empty()) ++leaders[line.begin()->second];
  }
  return leaders;
}

TimePoint ElectionWatch::LastSuccession() const {
  const std::lock_guard lock(mutex_);
  return last_succession_;
}

void ElectionWatch::Take(const etcdserverpb::WatchResponse& response) {
  const TimePoint at = BootClock::now();
  const std::lock_guard lock(mutex_);
  for (const etcdserverpb::Event& event : response.events()) {
    if (event.type() == etcdserverpb::Event::DELETE) {
      Remove(event.kv().key(), at);
    } else {
      Add(event.kv());
    }
  }
}

void ElectionWatch::Add(const etcdserverpb::KeyValue& key) {
  const Place place{std::strtoul(key.key().c_str() + prefix_.size(), nullptr, 10),
                    key.create_revision()};
  lines_.at(place.shard)[place.revision] = key.value();
  places_[key.key()] = place;
}

void ElectionWatch::Remove(const std::string& key, TimePoint at) {
  const auto found = places_.find(key);
  if (found == places_.end()) return;
  const Place place = found->second;
  places_.erase(found);
  Line& line = lines_.at(place.shard);
  if (line.begin()->first == place.revision) last_succession_ = at;
  line.erase(place.revision);
}

}  // namespace baton::bench
