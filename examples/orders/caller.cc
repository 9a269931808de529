// Calls the orders service: each order goes to the leader of its customer's shard.
//
//   orders_caller 1000 127.0.0.1:7400 127.0.0.1:7410
//
// The arguments: how many orders to place (0: until SIGTERM or Ctrl-C), and nodes to ask who leads.
// It prints a line for each order, and ends with 0 if no order failed.
#include <baton/router.h>

#include <charconv>
#include <chrono>
#include <iostream>
#include <string>
#include <string_view>

#include "orders.grpc.pb.h"
#include "stop_signals.h"

using namespace std::chrono_literals;

int main(int argc, char** argv) {
  const std::string_view count_text = argc < 3 ? "" : argv[1];
  const char* const end = count_text.data() + count_text.size();
  long count = -1;
  const bool is_number = std::from_chars(count_text.data(), end, count).ptr == end;
  if (argc < 3 || !is_number || count < 0) {
    std::cerr << "usage: orders_caller COUNT NODE_ADDRESS...\n";
    return 1;
  }
  StopSignals signals;  // first, before any thread starts

  // [router]
  auto started = baton::Router::Start({.group = "orders", .endpoints = {argv + 2, argv + argc}});
  if (!started) {
    std::cerr << started.error().message << "\n";
    return 1;
  }
  baton::Router& router = *started.value();  // one for the whole program, from any thread
  // [/router]

  long failed = 0;
  for (long i = 1; (count == 0 || i <= count) && !signals.Arrive(2ms); ++i) {
    const std::string customer = "customer-" + std::to_string(i % 100);
    // [call]
    orders::PlaceRequest request;
    request.set_customer(customer);
    orders::PlaceResponse response;
    const grpc::Status status =
        router.Call(customer, &orders::Orders::Stub::Place, request, &response, {.deadline = 10s});
    // [/call]
    if (status.ok()) {
      std::cout << customer << ": taken by " << response.node() << std::endl;
    } else {
      ++failed;
      std::cout << customer << ": failed: " << status.error_message() << std::endl;
    }
  }
  return failed == 0 ? 0 : 1;
}
