#include "sidecar/application.h"

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "baton/v1/sidecar.grpc.pb.h"

namespace baton::test {
namespace {

constexpr std::chrono::seconds kPatience{60};

std::string Word(v1::AttachEvent::Kind kind) {
  std::string word = v1::AttachEvent::Kind_Name(kind).substr(5);
  std::transform(word.begin(), word.end(), word.begin(),
                 [](char c) { return static_cast<char>(c - 'A' + 'a'); });
  return word;
}

std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(const PemTexts& tls) {
  if (tls.ca.empty()) return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials(
      {.pem_root_certs = tls.ca, .pem_private_key = tls.key, .pem_cert_chain = tls.cert});
}

std::shared_ptr<grpc::Channel> ChannelOf(const ApplicationOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  arguments.SetMaxReceiveMessageSize(-1);
  return options.connection >= 0
             ? grpc::CreateCustomInsecureChannelFromFd("application", options.connection, arguments)
             : grpc::CreateCustomChannel(options.address, CredentialsOf(options.tls), arguments);
}

}  // namespace

struct Application::Impl {
  explicit Impl(ApplicationOptions given) : options(std::move(given)) {
    stub = v1::SidecarService::NewStub(ChannelOf(options));
    stream = stub->Attach(&context);
    v1::AttachRequest first;
    first.mutable_hello()->set_protocol(1);
    first.mutable_hello()->set_group(options.group);
    first.mutable_hello()->set_client("test");
    first.mutable_hello()->set_token(options.token);
    first.mutable_hello()->set_pid(getpid());
    first.mutable_hello()->set_boottime_ns(BootClock::now().time_since_epoch().count());
    stream->Write(first);
    reads = options.reads;
    succeeded = !options.succeeds_once;
    thread = std::thread([this] { Run(); });
  }

  void Run() {
    v1::AttachResponse response;
    while (stream->Read(&response)) {
      Take(response);
      std::unique_lock lock(mutex);
      changed.wait(lock, [this] { return reads || !succeeded || leaving; });
    }
    const grpc::Status status = stream->Finish();
    const std::lock_guard lock(mutex);
    end = StreamEnd{static_cast<int>(status.error_code()), status.error_message()};
    changed.notify_all();
  }

  void Take(const v1::AttachResponse& response) {
    v1::AttachRequest answers;
    {
      const std::lock_guard lock(mutex);
      if (response.has_welcome()) {
        welcome = response.welcome();
        led.clear();
      }
      const std::int64_t until = response.deadline().boottime_ns();
      deadline = until == 0 ? TimePoint::min() : TimePoint(Duration(until));
      for (const v1::AttachEvent& event : response.events()) Take(event, answers);
      changed.notify_all();
    }
    if (answers.answers_size() > 0) Write(answers);
  }

  void Write(const v1::AttachRequest& request) {
    const std::lock_guard lock(writing);
    stream->Write(request);
  }

  void Take(const v1::AttachEvent& event, v1::AttachRequest& answers) {
    const std::string word = Word(event.kind());
    told[event.shard()].push_back(word + " " + std::to_string(event.term()));
    const bool first = word == "acquired" && !succeeded;
    const bool answered = event.operation() != 0 && (first || !options.silent.contains(word));
    succeeded = succeeded || (answered && word == "acquired");
    if (word == "acquired" || word == "led") led[event.shard()] = event.term();
    if (word == "stop" || word == "lost") led.erase(event.shard());
    if (word == "releasing" && answered) led.erase(event.shard());
    if (!answered) return;
    v1::AttachAnswer* const answer = answers.add_answers();
    answer->set_operation(event.operation());
    answer->set_ok(word != "acquired" || options.failure.empty());
    answer->set_error(options.failure);
  }

  const ApplicationOptions options;
  grpc::ClientContext context;
  std::unique_ptr<v1::SidecarService::Stub> stub;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AttachRequest, v1::AttachResponse>> stream;
  std::thread thread;
  std::mutex writing;  // one write at a time

  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  bool reads = true;
  bool succeeded = true;  // or need not
  bool leaving = false;
  std::optional<v1::AttachWelcome> welcome;
  std::optional<StreamEnd> end;
  Told told;
  std::map<std::uint32_t, std::int64_t> led;
  TimePoint deadline = TimePoint::min();
};

Application::Application(ApplicationOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

Application::~Application() { Disconnect(); }

void Application::Disconnect() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->leaving = true;
    impl_->changed.notify_all();
  }
  impl_->context.TryCancel();
  if (impl_->thread.joinable()) impl_->thread.join();
}

void Application::AnswerAnyway(std::uint64_t operation) {
  v1::AttachRequest request;
  request.add_answers()->set_operation(operation);
  impl_->Write(request);
}

void Application::SayReadyAnyway(int count) {
  v1::AttachRequest request;
  for (int i = 0; i < count; ++i) request.add_standbys()->set_ready(true);
  impl_->Write(request);
}

void Application::SendPadding(std::size_t bytes) {
  v1::AttachRequest request;
  const google::protobuf::Reflection& fields = *request.GetReflection();
  fields.MutableUnknownFields(&request)->AddLengthDelimited(1'000)->resize(bytes);
  impl_->Write(request);
}

void Application::Read() {
  const std::lock_guard lock(impl_->mutex);
  impl_->reads = true;
  impl_->changed.notify_all();
}

std::string Application::AwaitToken() {
  std::unique_lock lock(impl_->mutex);
  impl_->changed.wait_for(lock, kPatience, [&] { return impl_->welcome || impl_->end; });
  return impl_->welcome ? impl_->welcome->token() : "";
}

bool Application::resumed() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->welcome && impl_->welcome->resumed();
}

std::optional<StreamEnd> Application::AwaitEnd() {
  std::unique_lock lock(impl_->mutex);
  impl_->changed.wait_for(lock, kPatience, [&] { return impl_->end.has_value(); });
  return impl_->end;
}

bool Application::Await(const std::function<bool(const Told&)>& done, Duration bound) {
  std::unique_lock lock(impl_->mutex);
  return impl_->changed.wait_for(lock, bound, [&] { return done(impl_->told); });
}

Application::Told Application::told() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->told;
}

std::map<std::uint32_t, std::int64_t> Application::Led() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->led;
}

bool Application::AwaitDeadline(TimePoint deadline) {
  std::unique_lock lock(impl_->mutex);
  return impl_->changed.wait_for(lock, kPatience, [&] { return impl_->deadline == deadline; });
}

TimePoint Application::deadline() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->deadline;
}

}  // namespace baton::test
