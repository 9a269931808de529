#include "http/connection_places.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "http/server.h"

namespace baton::http {
namespace {

// How long a client reads nothing until its place may go to a new connection.
constexpr std::chrono::seconds kUnread{1};

}  // namespace

ConnectionPlaces::Room ConnectionPlaces::RoomFor(const std::string& client) const {
  // First: a client with all of its share closes none of the others' connections.
  const auto known = of_client_.find(client);
  if (known != of_client_.end() && known->second >= kMaxConnectionsOfClient) return Room::kClient;
  return places_.size() >= kMaxConnections ? Room::kAll : Room::kFree;
}

void ConnectionPlaces::MakeRoom(const std::string* client) {
  const auto counts = [&](Connection* connection) {
    return client == nullptr || places_.at(connection).client == *client;
  };
  const auto idle = std::ranges::find_if(idle_, counts);
  if (idle != idle_.end()) return (*idle)->Close();
  auto longest = std::chrono::steady_clock::now() - kUnread;
  Connection* unread = nullptr;
  for (const auto& [connection, place] : places_) {
    const auto since = connection->UnreadSince();
    if (!since || *since > longest || !counts(connection)) continue;
    longest = *since;
    unread = connection;
  }
  if (unread != nullptr) unread->Abandon();
}

void ConnectionPlaces::Add(std::shared_ptr<Connection> connection, std::string client) {
  BATON_CHECK(RoomFor(client) == Room::kFree);
  ++of_client_[client];
  Connection* const key = connection.get();
  places_.emplace(key, Place{.connection = std::move(connection), .client = std::move(client)});
}

void ConnectionPlaces::Waiting(Connection& connection) {
  Busy(connection);
  idle_.push_back(&connection);
  places_.at(&connection).idle = std::prev(idle_.end());
}

void ConnectionPlaces::Busy(Connection& connection) {
  const auto place = places_.find(&connection);
  if (place == places_.end() || !place->second.idle) return;
  idle_.erase(*std::exchange(place->second.idle, std::nullopt));
}

void ConnectionPlaces::Remove(Connection& connection) {
  Busy(connection);
  const auto place = places_.extract(&connection);
  if (place.empty()) return;
  const auto count = of_client_.find(place.mapped().client);
  if (--count->second == 0) of_client_.erase(count);
}

void ConnectionPlaces::CloseAll() {
  while (!places_.empty()) places_.begin()->second.connection->Close();
}

}  // namespace baton::http
