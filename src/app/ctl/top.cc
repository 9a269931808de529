#include "app/ctl/top.h"

#include <langinfo.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <clocale>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#define NCURSES_NOMACROS
#define NCURSES_WIDECHAR 1
#include <ncurses.h>

#include "app/ctl/client.h"
#include "app/ctl/interrupt.h"
#include "app/ctl/output.h"
#include "app/ctl/top_frame.h"

namespace baton::app {
namespace {

constexpr std::chrono::milliseconds kRefresh{500};
constexpr std::chrono::seconds kRefreshCall{3};
constexpr int kKeyWaitMilliseconds = 100;
constexpr int kNodePairs = 12;
constexpr short kFirstNodePair = 10;

/// Fetches the newest status on a thread of its own, so that keys work while the node is silent.
class Feed {
 public:
  explicit Feed(const CtlOptions& options) : client_(options), thread_([this] { Run(); }) {}
  ~Feed() {
    Interrupt::Raise();  // ends a call in flight
    thread_.join();
  }

  struct Latest {
    std::shared_ptr<const runtime::NodeStatus> status;
    TimePoint at;
    std::optional<Error> problem;
  };
  Latest Get() const {
    const std::lock_guard lock(mutex_);
    return latest_;
  }
  void Pause(bool paused) { paused_.store(paused); }

 private:
  void Run() {
    do {
      if (!paused_.load()) Fetch();
    } while (Interrupt::Sleep(kRefresh));
  }

  void Fetch() {
    Result<StatusAnswer> answer = client_.GetStatus(true, BootClock::now() + kRefreshCall);
    const std::lock_guard lock(mutex_);
    latest_.problem = answer ? std::nullopt : std::make_optional(answer.error());
    if (!answer) return;
    latest_.status = std::make_shared<const runtime::NodeStatus>(std::move(answer).value().status);
    latest_.at = BootClock::now();
  }

  AdminClient client_;
  mutable std::mutex mutex_;
  Latest latest_;  // guarded by mutex_
  std::atomic<bool> paused_{false};
  std::thread thread_;
};

/// Hands the terminal to ncurses for this object's life.
class Screen {
 public:
  explicit Screen(bool color) {
    screen_ = newterm(nullptr, stdout, stdin);
    if (screen_ == nullptr) return;
    set_term(screen_);
    cbreak();
    noecho();
    curs_set(0);
    keypad(stdscr, TRUE);
    wtimeout(stdscr, kKeyWaitMilliseconds);
    color_ = color && has_colors() && start_color() == OK;
    if (color_) InitColors();
  }
  ~Screen() {
    if (screen_ == nullptr) return;
    endwin();
    delscreen(screen_);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  bool ok() const { return screen_ != nullptr; }

  void Paint(const Frame& frame) const {
    werase(stdscr);
    for (std::size_t row = 0; row < frame.lines.size(); ++row) {
      wmove(stdscr, static_cast<int>(row), 0);
      for (const Span& span : frame.lines[row]) {
        const attr_t attributes = AttributesOf(span);
        wattr_on(stdscr, attributes, nullptr);
        waddnstr(stdscr, span.text.c_str(), static_cast<int>(span.text.size()));
        wattr_off(stdscr, attributes, nullptr);
      }
    }
    wrefresh(stdscr);
  }

 private:
  static void InitColors() {
    use_default_colors();
    init_pair(1, COLOR_GREEN, -1);
    init_pair(2, COLOR_YELLOW, -1);
    init_pair(3, COLOR_RED, -1);
    static constexpr short kRich[kNodePairs] = {33, 208, 76,  170, 44, 220,
                                                99, 37,  204, 148, 67, 180};
    static constexpr short kPlain[] = {COLOR_BLUE,  COLOR_MAGENTA, COLOR_CYAN,
                                       COLOR_GREEN, COLOR_YELLOW,  COLOR_WHITE};
    for (short i = 0; i < kNodePairs; ++i) {
      init_pair(static_cast<short>(kFirstNodePair + i), COLORS >= 256 ? kRich[i] : kPlain[i % 6],
                -1);
    }
  }

  attr_t AttributesOf(const Span& span) const {
    const auto pair = [this](int number) {
      return color_ ? static_cast<attr_t>(COLOR_PAIR(number)) : attr_t{0};
    };
    switch (span.ink) {
      case Ink::kPlain: return A_NORMAL;
      case Ink::kTitle: return A_BOLD;
      case Ink::kDim: return A_DIM;
      case Ink::kGood: return pair(1);
      case Ink::kWarning: return pair(2) | A_BOLD | A_REVERSE;
      case Ink::kBad: return pair(3) | A_BOLD | A_REVERSE;
      case Ink::kNode: break;
    }
    return span.node < 0 ? A_BOLD : pair(kFirstNodePair + span.node % kNodePairs);
  }

  SCREEN* screen_ = nullptr;
  bool color_ = false;
};

/// Handles a key. False: the user quits.
bool HandleKey(int key, Feed* feed, TopView* view) {
  switch (key) {
    case 'q':
    case 'Q': return false;
    case 'p':
    case 'P':
      view->paused = !view->paused;
      feed->Pause(view->paused);
      break;
    case KEY_DOWN: ++view->shard_scroll; break;
    case KEY_UP: view->shard_scroll = std::max(0, view->shard_scroll - 1); break;
    case KEY_NPAGE: view->shard_scroll += 10; break;
    case KEY_PPAGE: view->shard_scroll = std::max(0, view->shard_scroll - 10); break;
    case KEY_HOME: view->shard_scroll = view->node_scroll = 0; break;
    case KEY_RIGHT: ++view->node_scroll; break;
    case KEY_LEFT: view->node_scroll = std::max(0, view->node_scroll - 1); break;
    default: break;  // KEY_RESIZE too: the next frame has the new size
  }
  return true;
}

/// An error, always kInvalidArgument: no call can succeed, because of the flags or their files.
Result<ExitCode> Show(const CtlOptions& options, const Screen& screen) {
  Feed feed(options);
  TopView view;
  view.ascii = std::string_view(nl_langinfo(CODESET)) != "UTF-8";
  while (!Interrupt::Happened()) {
    const Feed::Latest latest = feed.Get();
    if (latest.problem && latest.problem->code == ErrorCode::kInvalidArgument) {
      return *latest.problem;
    }
    view.width = getmaxx(stdscr);
    view.height = getmaxy(stdscr);
    view.problem = latest.problem ? latest.problem->message : "";
    view.age = std::chrono::duration_cast<std::chrono::milliseconds>(BootClock::now() - latest.at);
    const Frame frame = BuildFrame(latest.status.get(), view);
    screen.Paint(frame);
    // The place is limited, so that keys pressed past the end need not be taken back one by one.
    view.shard_scroll = frame.shard_scroll;
    view.node_scroll = frame.node_scroll;
    if (!HandleKey(wgetch(stdscr), &feed, &view)) return ExitCode::kDone;
  }
  return ExitCode::kInterrupted;
}

}  // namespace

ExitCode RunTop(const CtlOptions& options) {
  if (isatty(STDOUT_FILENO) != 1 || isatty(STDIN_FILENO) != 1) {
    Say("top needs a terminal; use batonctl status, or shards list -o json");
    return ExitCode::kUsage;
  }
  std::setlocale(LC_ALL, "");
  Result<ExitCode> ended = ExitCode::kUsage;
  {
    const Screen screen(options.color);
    if (!screen.ok()) {
      Say("top can't use this terminal: set TERM to one that terminfo knows");
      return ExitCode::kUsage;
    }
    ended = Show(options, screen);
  }
  if (ended) return *ended;
  Say(ended.error().message);  // Fail would say "interrupted": the feed's end raises Interrupt
  return ExitCode::kUsage;
}

}  // namespace baton::app
