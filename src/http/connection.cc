#include "http/connection.h"

#include <fmt/format.h>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/message_generator.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <utility>

namespace baton::http {
namespace {

namespace beast = boost::beast;
namespace net = boost::asio;

// After a refusal the client may still be sending. Its bytes are read and dropped, up to these
// limits: closing earlier would reset the connection before the client reads our answer.
constexpr std::chrono::seconds kLinger{1};
constexpr std::chrono::seconds kLookForEnd{1};
constexpr std::size_t kMaxDiscarded = 256 * 1024;
constexpr unsigned kUnauthorized = 401;

/// Whether our own time limit passed, or the kernel's for acknowledgements by the client's host.
bool IsNotTaken(beast::error_code error) {
  return error == beast::error::timeout || error == net::error::timed_out ||
         error == net::error::host_unreachable || error == net::error::network_unreachable;
}

/// A response body that connections share instead of copying it.
struct SharedBody {
  using value_type = std::shared_ptr<const std::string>;

  static std::uint64_t size(const value_type& body) { return body->size(); }

  class writer {
   public:
    using const_buffers_type = net::const_buffer;

    template <bool IsRequest, class Fields>
    writer(const beast::http::header<IsRequest, Fields>&, const value_type& body) : body_(body) {}
    void init(beast::error_code& error) { error = {}; }
    boost::optional<std::pair<const_buffers_type, bool>> get(beast::error_code& error) {
      error = {};
      return {{net::const_buffer(body_->data(), body_->size()), false}};
    }

   private:
    const value_type& body_;
  };
};

template <typename Message>
void SetHead(Message& message, const Response& response) {
  using beast::http::field;
  message.result(response.status);
  message.set(field::content_type, response.content_type);
  message.set(field::cache_control, "no-store");
  message.set("X-Content-Type-Options", "nosniff");
  message.set("Cross-Origin-Resource-Policy", "same-origin");
  message.set("Cross-Origin-Opener-Policy", "same-origin");
  message.set("Referrer-Policy", "no-referrer");
  if (response.status == kUnauthorized) message.set(field::www_authenticate, "Bearer");
  if (!response.content_security_policy.empty()) {
    message.set("Content-Security-Policy", response.content_security_policy);
  }
  if (response.retry_after.count() > 0) {
    message.set(field::retry_after, std::to_string(response.retry_after.count()));
  }
}

template <typename Message>
beast::http::message_generator Finish(Message message, const Response& response, bool keep_alive,
                                      bool allow) {
  SetHead(message, response);
  if (allow) message.set(beast::http::field::allow, "GET, HEAD");
  message.content_length(response.body->size());
  message.keep_alive(keep_alive);
  return beast::http::message_generator(std::move(message));
}

template <typename Message>
std::vector<std::string> AuthorizationsOf(const Message& request) {
  std::vector<std::string> all;
  const auto [first, last] = request.equal_range(beast::http::field::authorization);
  for (auto header = first; header != last; ++header) all.emplace_back(header->value());
  return all;
}

// Otherwise the kernel keeps up to 4 MiB for each client that does not read. It doubles this.
constexpr int kSendBuffer = 256 << 10;

// Otherwise a host that vanished would keep its connection until TCP gives up, after a quarter of
// an hour. If the option can't be set, it does.
void LimitUnacknowledged(net::ip::tcp::socket& socket, std::chrono::milliseconds limit) {
  const auto milliseconds = static_cast<unsigned>(limit.count());
  setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds,
             sizeof milliseconds);
}

/// 0.0.0.0 if the client has gone already.
net::ip::address PeerOf(const net::ip::tcp::socket& socket) {
  beast::error_code error;
  const auto peer = socket.remote_endpoint(error);
  return error ? net::ip::address() : peer.address();
}

}  // namespace

Connection::Connection(net::ip::tcp::socket socket, ssl_ctx_st* context, const HttpOptions& options,
                       Owner& owner)
    : stream_(std::move(socket), context),
      idle_timeout_(options.idle_timeout),
      write_timeout_(options.write_timeout),
      max_age_(options.max_age),
      owner_(owner),
      peer_(PeerOf(stream_.socket())),
      buffer_(kMaxHeader + kMaxBody),
      heartbeat_(stream_.get_executor()) {
  beast::error_code ignored;
  stream_.socket().set_option(net::ip::tcp::no_delay(true), ignored);
  stream_.socket().set_option(net::socket_base::send_buffer_size(kSendBuffer), ignored);
  LimitUnacknowledged(stream_.socket(), write_timeout_);
}

void Connection::Start() { stream_.secure() ? ShakeHands() : Read(); }

bool Connection::IsOld() const {
  return max_age_.count() > 0 && std::chrono::steady_clock::now() - since_ >= max_age_;
}

void Connection::ShakeHands() {
  owner_.Waiting(*this);
  stream_.expires_after(idle_timeout_);
  stream_.Handshake([self = shared_from_this()](beast::error_code error) {
    if (self->closed_) return;
    if (error) return self->Close();
    self->certificate_ = self->stream_.Certificate();
    self->Read();
  });
}

const access::Caller& Connection::PeerCaller() {
  access::Certify(caller_, certificate_, std::chrono::system_clock::now());
  return caller_;
}

std::optional<std::chrono::steady_clock::time_point> Connection::UnreadSince() const {
  return writing_ ? std::optional(stream_.wrote_at()) : std::nullopt;
}

void Connection::Close() {
  if (std::exchange(closed_, true)) return;
  feed_.reset();
  heartbeat_.cancel();
  stream_.Close();
  owner_.Closed(*this);
}

void Connection::Abandon() {
  beast::error_code ignored;
  stream_.socket().set_option(net::socket_base::linger(true, 0), ignored);
  Close();
}

void Connection::Read() {
  parser_.emplace();
  parser_->header_limit(kMaxHeader);
  parser_->body_limit(kMaxBody);
  owner_.Waiting(*this);
  // One limit for the whole request, so that a client can't extend it byte by byte.
  stream_.expires_after(idle_timeout_);
  beast::http::async_read(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](beast::error_code error, std::size_t) { self->OnRead(error); });
}

void Connection::OnRead(beast::error_code error) {
  if (closed_) return;
  owner_.Busy(*this);
  if (error == beast::error::timeout && parser_->got_some()) owner_.CutOff(Slow::kRequest);
  if (error) return Refuse(error);
  stream_.expires_never();
  Handle();
}

void Connection::Refuse(beast::error_code error) {
  namespace http = beast::http;
  const bool spoken = error.category() == make_error_code(http::error::bad_method).category();
  if (!spoken || error == http::error::end_of_stream || error == http::error::partial_message) {
    return Close();
  }
  head_ = false;
  allow_ = false;
  version_ = kHttp11;
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return Write(
        TextResponse(431,
                     fmt::format("the request's header is too large; expected at most {} bytes",
                                 kMaxHeader)),
        false);
  }
  if (error == http::error::body_limit) {
    return Write(TextResponse(413, "the request's body is too large; none is expected"), false);
  }
  Write(TextResponse(400, "malformed request: " + error.message()), false);
}

void Connection::Handle() {
  const auto& request = parser_->get();
  const beast::http::verb method = request.method();
  const bool keep_alive = request.keep_alive();
  head_ = method == beast::http::verb::head;
  allow_ = method != beast::http::verb::get && !head_;
  version_ = request.version();
  if (allow_) {
    return Write(ErrorResponse(405, {request.target().data(), request.target().size()},
                               "only GET and HEAD are served here"),
                 keep_alive);
  }
  const auto text = [&request](beast::http::field name) {
    const auto value = request[name];
    return std::string(value.data(), value.size());
  };
  const auto named = [&request](const char* name) {
    const auto value = request[name];
    return std::string(value.data(), value.size());
  };
  owner_.Answer(*this,
                {.target = std::string(request.target()),
                 .accept = text(beast::http::field::accept),
                 .last_event_id = named("Last-Event-ID"),
                 .caller = {.hosts = request.count(beast::http::field::host),
                            .host = text(beast::http::field::host),
                            .origin = text(beast::http::field::origin),
                            .fetch_site = named("Sec-Fetch-Site"),
                            .fetch_mode = named("Sec-Fetch-Mode"),
                            .fetch_dest = named("Sec-Fetch-Dest")},
                 .authorization = AuthorizationsOf(request),
                 .peer = peer_},
                [self = shared_from_this(), keep_alive](Response response) {
                  const bool stays = keep_alive && !self->IsOld();
                  if (!self->closed_) self->Write(std::move(response), stays);
                });
}

// Does not read: the client's next bytes are its next request.
void Connection::WatchForEnd() {
  if (stream_.secure()) return LookForEnd();
  stream_.socket().async_wait(
      net::ip::tcp::socket::wait_read,
      [weak = weak_from_this(), answer = answers_](beast::error_code error) {
        const auto self = weak.lock();
        if (error || self == nullptr || self->closed_ || self->answers_ != answer) return;
        if (self->ClientHasLeft()) self->Close();
      });
}

// With TLS a client says goodbye, and these bytes look like those of its next request.
void Connection::LookForEnd() {
  heartbeat_.expires_after(kLookForEnd);
  heartbeat_.async_wait([weak = weak_from_this(), answer = answers_](beast::error_code error) {
    const auto self = weak.lock();
    if (error || self == nullptr || self->closed_ || self->answers_ != answer) return;
    self->stream_.ClientHasClosed() ? self->Close() : self->LookForEnd();
  });
}

bool Connection::ClientHasLeft() {
  char byte = 0;
  beast::error_code error;
  stream_.socket().non_blocking(true, error);
  if (error) return true;
  stream_.socket().receive(net::buffer(&byte, 1), net::ip::tcp::socket::message_peek, error);
  return error && error != net::error::would_block && error != net::error::try_again;
}

void Connection::Write(Response response, bool keep_alive) {
  namespace http = beast::http;
  ++answers_;
  beast::error_code ignored;
  stream_.socket().cancel(ignored);  // only WatchForEnd's wait can be pending
  if (response.feed != nullptr) return BeginFeed(response);
  auto message = head_
                     ? Finish(http::response<http::empty_body>(http::status::ok, version_),
                              response, keep_alive, allow_)
                     : Finish(http::response<SharedBody>(http::status::ok, version_, response.body),
                              response, keep_alive, allow_);
  stream_.expires_after(write_timeout_);
  writing_ = true;
  beast::async_write(stream_, std::move(message),
                     [self = shared_from_this(), keep_alive](beast::error_code error, std::size_t) {
                       self->OnWritten(error, keep_alive);
                     });
}

void Connection::OnWritten(beast::error_code error, bool keep_alive) {
  writing_ = false;
  NoteSlowReader(error);
  if (closed_) return;
  if (error) return Close();
  if (keep_alive) return Read();
  FinishSending();
}

void Connection::FinishSending() {
  owner_.Waiting(*this);
  stream_.expires_after(kLinger);
  buffer_.clear();
  stream_.FinishSending([self = shared_from_this()](beast::error_code) {
    if (!self->closed_) self->Discard();
  });
}

void Connection::Discard() {
  stream_.plain().async_read_some(
      buffer_.prepare(kMaxBody),
      [self = shared_from_this()](beast::error_code error, std::size_t count) {
        if (self->closed_) return;
        self->discarded_ += count;
        if (error || self->discarded_ > kMaxDiscarded) return self->Close();
        self->Discard();
      });
}

void Connection::NoteSlowReader(beast::error_code error) {
  if (IsNotTaken(error) && !std::exchange(slow_, true)) owner_.CutOff(Slow::kReader);
}

// ---- feeds -------------------------------------------------------------------------------------

// A feed has no length, so it ends with the connection.
void Connection::BeginFeed(const Response& response) {
  if (!head_) feed_ = response.feed;
  beast::http::response<beast::http::empty_body> head(beast::http::status::ok, version_);
  SetHead(head, response);
  head.keep_alive(false);
  stream_.expires_never();
  if (feed_ != nullptr) WatchClient();
  stream_.expires_after(write_timeout_);
  writing_ = true;
  beast::async_write(
      stream_, beast::http::message_generator(std::move(head)),
      [self = shared_from_this(), fed = !head_](beast::error_code error, std::size_t) {
        fed ? self->OnFed(error) : self->OnWritten(error, false);
      });
}

// The client sends nothing more. Watching it frees its place as soon as it is gone.
void Connection::WatchClient() {
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(kMaxBody),
                          [self = shared_from_this()](beast::error_code error, std::size_t count) {
                            self->NoteSlowReader(error);
                            if (self->closed_) return;
                            self->discarded_ += count;
                            if (error || self->discarded_ > kMaxDiscarded) return self->Close();
                            self->WatchClient();
                          });
}

// A write that took too long closes the socket; WatchClient may hear of that first.
void Connection::OnFed(beast::error_code error) {
  writing_ = false;
  NoteSlowReader(error);
  if (closed_) return;
  if (error) return Close();
  heartbeat_.expires_after(kFeedHeartbeat);
  Feed();
}

void Connection::Feed() {
  resting_ = false;
  if (IsOld()) return Close();  // the client goes on after the last event that it has
  std::string text = feed_->Next();
  if (!text.empty()) return SendFeed(std::move(text));
  if (feed_->ended()) return Close();
  AwaitFeed();
}

// `ready` is called on the node's loop; the rest runs on the socket thread.
void Connection::AwaitFeed() {
  resting_ = true;
  feed_->Await([weak = weak_from_this(), executor = stream_.get_executor()] {
    net::post(executor, [weak] {
      const auto self = weak.lock();
      if (self != nullptr && !self->closed_ && self->resting_) self->Feed();
    });
  });
  // Runs since the last write. Events of other shards send nothing, so they don't delay it.
  heartbeat_.cancel();
  heartbeat_.async_wait([weak = weak_from_this()](beast::error_code error) {
    const auto self = weak.lock();
    if (error || self == nullptr || self->closed_ || !self->resting_) return;
    if (self->IsOld()) return self->Close();
    self->resting_ = false;
    self->SendFeed(self->feed_->Heartbeat());
  });
}

void Connection::SendFeed(std::string text) {
  heartbeat_.cancel();
  sending_ = std::move(text);
  stream_.expires_after(write_timeout_);
  writing_ = true;
  net::async_write(
      stream_, net::buffer(sending_),
      [self = shared_from_this()](beast::error_code error, std::size_t) { self->OnFed(error); });
}

}  // namespace baton::http
