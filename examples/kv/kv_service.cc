#include "kv_service.h"

#include <chrono>
#include <utility>

namespace kv {
namespace {

Writer WriterOf(const baton::Owned& owned) { return {owned.term, owned.request_id}; }

// With this status the caller's router waits for the next leader and tries again.
grpc::Status NotNow(const baton::Owned& owned, const std::string& why) {
  return baton::NoLeaderStatus(owned.shard, why, std::chrono::milliseconds(10));
}

}  // namespace

grpc::Status KvService::Serve(const grpc::ServerContext& context, const std::string& key,
                              const Work& work) {
  baton::Owned owned;
  grpc::Status checked = guard_.Check(context, key, &owned);
  if (!checked.ok()) return checked;
  try {
    const bool served =
        shards_.Serve(owned.shard, owned.term, [&](ShardStore& store) { work(owned, store); });
    return served ? grpc::Status::OK : NotNow(owned, "it is being handed over");
  } catch (const StaleTerm& stale) {
    return NotNow(owned, stale.what());
  } catch (const BadValue& bad) {
    return {grpc::StatusCode::INVALID_ARGUMENT, bad.what()};
  } catch (const DatabaseError& error) {
    // Nothing was committed, so the same request may come again.
    return {grpc::StatusCode::UNAVAILABLE, error.what()};
  }
}

grpc::Status KvService::Put(grpc::ServerContext* context, const api::PutRequest* request,
                            api::PutResponse*) {
  return Serve(*context, request->key(), [&](const baton::Owned& owned, ShardStore& store) {
    store.Put(WriterOf(owned), request->key(), request->value());
  });
}

grpc::Status KvService::Get(grpc::ServerContext* context, const api::GetRequest* request,
                            api::GetResponse* response) {
  return Serve(*context, request->key(), [&](const baton::Owned& owned, ShardStore& store) {
    if (auto value = store.Get(owned.term, request->key())) response->set_value(*std::move(value));
  });
}

grpc::Status KvService::Increment(grpc::ServerContext* context,
                                  const api::IncrementRequest* request,
                                  api::IncrementResponse* response) {
  return Serve(*context, request->key(), [&](const baton::Owned& owned, ShardStore& store) {
    response->set_value(store.Increment(WriterOf(owned), request->key(), request->by()));
  });
}

}  // namespace kv
