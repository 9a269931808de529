// The names that examples in headers and documents may use without declaring them (code_blocks.py).
// Nothing here is defined: examples are checked by the compiler, and never run.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/sync_stream.h>
#include <prometheus/exposer.h>

#include "baton/credentials.h"
#include "baton/fencing.h"
#include "baton/grpc.h"
#include "baton/listener.h"
#include "baton/node.h"
#include "baton/options.h"
#include "baton/owner_guard.h"
#include "baton/prometheus.h"
#include "baton/result.h"
#include "baton/router.h"
#include "baton/routes.h"
#include "baton/sharding.h"
#include "baton/types.h"

namespace given {

using namespace std::chrono_literals;

/// The result of an example, and of the program's own functions: it becomes anything.
struct [[maybe_unused]] Anything {
  template <typename T>
  Anything(T&&);  // NOLINT(google-explicit-constructor)
  Anything(const Anything&) = default;
  template <typename T>
  operator T() const;  // NOLINT(google-explicit-constructor)
};

/// An object that an example may have as it is, by a pointer, or in a Result.
template <typename T>
struct Any : T {
  Any() = delete;
  T* operator->() const;
  T& operator*() const;
  std::unique_ptr<T>& value() const;
};

extern Any<baton::Node>& node;
extern Any<baton::Router>& router;
extern prometheus::Exposer& exposer;
extern baton::NodeOptions options;
extern baton::ShardId shard;
extern baton::Term term;
extern std::string address, customer, group, key, prefix;
extern std::shared_ptr<grpc::ChannelCredentials> credentials;
extern std::function<void(grpc::Status)> done;

// The reader's program does this; its arguments do not matter here.
template <typename... Values>
Anything Add(Values&&...);
template <typename... Values>
Anything Drop(Values&&...);
template <typename... Values>
Anything Fail(Values&&...);
template <typename... Values>
Anything Finish(Values&&...);
template <typename... Values>
Anything Load(Values&&...);
template <typename... Values>
Anything Refuse(Values&&...);
template <typename... Values>
Anything Write(Values&&...);

/// A generated service with the methods Put (or Place) and Scan.
template <typename In, typename Out>
struct Generated {
  class Stub {
   public:
    struct Async {
      void Put(grpc::ClientContext*, const In*, Out*, std::function<void(grpc::Status)>);
      void Place(grpc::ClientContext*, const In*, Out*, std::function<void(grpc::Status)>);
    };
    explicit Stub(const std::shared_ptr<grpc::ChannelInterface>& channel);
    grpc::Status Put(grpc::ClientContext*, const In&, Out*);
    grpc::Status Place(grpc::ClientContext*, const In&, Out*);
    std::unique_ptr<grpc::ClientReaderInterface<Out>> Scan(grpc::ClientContext*, const In&);
    Async* async();
  };
  static std::unique_ptr<Stub> NewStub(const std::shared_ptr<grpc::ChannelInterface>& channel);
};

struct Request {
  const std::string& key() const;
  const std::string& customer() const;
  void set_customer(const std::string& name);
};
struct Response {
  void set_number(std::int64_t number);
  void set_node(const std::string& name);
};
namespace kv {
using PutRequest = Request;
using PutResponse = Response;
using Kv = Generated<Request, Response>;
}  // namespace kv
namespace orders {
using PlaceRequest = Request;
using PlaceResponse = Response;
using Orders = Generated<Request, Response>;
}  // namespace orders

extern Request request;
extern Response response;

/// The reader's listener, and the class that has an example's members as methods.
class Orders : public baton::Listener {};
class Service : public baton::Listener {
 public:
  virtual grpc::Status Put(grpc::ServerContext*, const Request*, Response*);
  virtual grpc::Status Place(grpc::ServerContext*, const Request*, Response*);

 protected:
  static baton::OwnerGuard& guard_;
};

}  // namespace given
