// The lock in the state directory: what it proves about an earlier process, and what it doesn't.
#include "runtime/state_lock.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <utility>

#include "runtime/file_system.h"

namespace baton::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StateLockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "baton-lock-XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::unique_ptr<StateLock> Take(const std::string& directory, const NodeId& node = "n1") {
    auto taken = StateLock::Take(directory, "orders", node);
    EXPECT_TRUE(taken.ok()) << taken.error().message;
    return taken.ok() ? std::move(taken).value() : nullptr;
  }
  std::string File() const { return directory_ + "/session.lock"; }
  StateFile Content() const {
    std::ifstream file(File(), std::ios::binary);
    return *ParseStateFile({std::istreambuf_iterator<char>(file), {}});
  }

  std::string directory_;
};

// Plan: a process records its session and ends. The next process on this boot has the proof.
TEST_F(StateLockTest, ProvesTheDeathOfTheProcessThatHeldIt) {
  auto first = Take(directory_);
  EXPECT_TRUE(first->found().proven_dead.empty());
  ASSERT_TRUE(first->RecordSession({.session = SessionId{4711}}).ok());
  ASSERT_TRUE(first->RecordHighest(Revision{99}).ok());
  first.reset();
  auto second = Take(directory_);
  ASSERT_FALSE(second->found().proven_dead.empty()) << second->found().no_proof;
  EXPECT_EQ(second->found().proven_dead.front().value, 4711);
  EXPECT_EQ(second->found().highest_committed.value, 99);
}

// Plan: even with a umask that forbids nothing, others can't read the file.
TEST_F(StateLockTest, TheFileIsForItsOwnerAlone) {
  const mode_t before = umask(0);
  Take(directory_)->RecordSession({.session = SessionId{1}}).ok();
  umask(before);
  struct stat file {};
  ASSERT_EQ(stat(File().c_str(), &file), 0);
  EXPECT_EQ(file.st_mode, S_IFREG | S_IRUSR | S_IWUSR);
}

// Plan: even with a umask that forbids nothing, a folder that the lock makes is for its owner
// alone.
TEST_F(StateLockTest, TheFolderIsForItsOwnerAlone) {
  const mode_t before = umask(0);
  Take(directory_ + "/a/b/");
  umask(before);
  struct stat folder {};
  ASSERT_EQ(stat((directory_ + "/a/b").c_str(), &folder), 0);
  EXPECT_EQ(folder.st_mode, S_IFDIR | S_IRWXU);
}

// Plan: the folder or the file is open to everybody, the file is a link, or either belongs to
// another user. The lock is refused with one line that names it, and the link's target stays as it
// is.
TEST_F(StateLockTest, RefusesAFolderThatOthersMayWriteTo) {
  const auto refusal = [&] {
    const auto taken = StateLock::Take(directory_, "orders", "n1");
    if (taken.ok()) return std::string("taken");
    EXPECT_EQ(taken.error().code, ErrorCode::kInvalidArgument);
    return taken.error().message;
  };
  ASSERT_EQ(chmod(directory_.c_str(), 0777), 0);
  EXPECT_THAT(refusal(), AllOf(HasSubstr(directory_), HasSubstr("(mode 777)"), HasSubstr("chmod")));
  ASSERT_EQ(chmod(directory_.c_str(), 0770), 0);  // as a volume of Kubernetes for a group
  EXPECT_EQ(refusal(), "taken");
  ASSERT_EQ(chmod(File().c_str(), 0660), 0);  // and as it makes the files when it mounts that
  EXPECT_EQ(refusal(), "taken");
  EXPECT_EQ(std::filesystem::status(File()).permissions(), std::filesystem::perms(0600));
  ASSERT_EQ(chmod(File().c_str(), 0644), 0);  // who can read it can hold its lock
  EXPECT_EQ(refusal(), "taken");
  EXPECT_EQ(std::filesystem::status(File()).permissions(), std::filesystem::perms(0600));
  ASSERT_EQ(chmod(File().c_str(), 0666), 0);
  EXPECT_THAT(refusal(), AllOf(HasSubstr(File()), HasSubstr("(mode 666)")));

  const std::string target = directory_ + "/target";
  std::ofstream(target) << "mine";
  std::filesystem::remove(File());
  std::filesystem::create_symlink(target, File());
  EXPECT_THAT(refusal(), AllOf(HasSubstr(File()), HasSubstr("symbolic link")));
  EXPECT_EQ(std::filesystem::file_size(target), 4u);
  std::filesystem::remove(File());
  std::filesystem::create_directory(File());
  EXPECT_NE(refusal(), "taken");
  std::filesystem::remove(File());

  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  constexpr uid_t kOther = 65534;
  EXPECT_EQ(refusal(), "taken");
  ASSERT_EQ(chown(File().c_str(), kOther, kOther), 0);
  EXPECT_THAT(refusal(), AllOf(HasSubstr(File()), HasSubstr("belongs to user 65534")));
  ASSERT_EQ(chown(File().c_str(), 0, 0), 0);
  ASSERT_EQ(chown(directory_.c_str(), kOther, kOther), 0);
  EXPECT_THAT(refusal(), AllOf(HasSubstr(directory_), HasSubstr("belongs to user 65534")));
}

// Plan: while one process holds the lock, another is refused with one line that says what to do.
TEST_F(StateLockTest, RefusesWhileTheHolderLives) {
  auto first = Take(directory_);
  auto second = StateLock::Take(directory_, "orders", "n1");
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(second.error().message, HasSubstr("locked by a living process"));
}

// Plan: a guard holds the shared lock while a node starts. The node waits for it, and has its proof
// once the guard lets go.
TEST_F(StateLockTest, ANodeWaitsForAGuard) {
  Take(directory_)->RecordSession({.session = SessionId{7}}).ok();
  const int guard = open(File().c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(guard, LOCK_SH), 0);
  auto starts = std::async(std::launch::async, [this] { return Take(directory_); });
  EXPECT_EQ(starts.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  close(guard);
  const auto node = starts.get();
  EXPECT_THAT(node->found().proven_dead, ElementsAre(SessionId{7}));
}

// Plan: a guard stands still under its lock. The node starts after a while, has no proof, and must
// not write. Once the guard is gone it names its session, and the one before that it never saw end,
// although etcd's revision stands still.
TEST_F(StateLockTest, AGuardThatStandsStillHoldsUpNoNode) {
  Take(directory_)->RecordSession({.session = SessionId{7}}).ok();
  const int guard = open(File().c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(guard, LOCK_SH), 0);
  auto node = Take(directory_);
  EXPECT_TRUE(node->found().proven_dead.empty());
  EXPECT_THAT(node->found().no_proof, HasSubstr("a guard holds"));
  EXPECT_EQ(node->RecordSession({.session = SessionId{8}}).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(node->RecordHighest(Revision{3}).error().code, ErrorCode::kUnavailable);
  close(guard);
  EXPECT_TRUE(node->RecordHighest(Revision{3}).ok());
  EXPECT_FALSE(StateLock::Take(directory_, "orders", "n1").ok()) << "it has the lock now";
  node.reset();
  EXPECT_THAT(Take(directory_)->found().proven_dead, ElementsAre(SessionId{8}, SessionId{7}));
}

// Plan: a process dies before its session has the member key. The next one finds both sessions: it,
// and the one before, which holds the key still.
TEST_F(StateLockTest, NamesTheSessionBeforeToo) {
  Take(directory_)->RecordSession({.session = SessionId{1}}).ok();
  Take(directory_)->RecordSession({.session = SessionId{2}, .replaces = SessionId{1}}).ok();
  EXPECT_THAT(Take(directory_)->found().proven_dead, ElementsAre(SessionId{2}, SessionId{1}));
  Take(directory_)->RecordSession({.session = SessionId{3}, .replaces = SessionId{1}}).ok();
  EXPECT_THAT(Take(directory_)->found().proven_dead, ElementsAre(SessionId{3}, SessionId{1}));
  Take(directory_, "n1")->RecordSession({.session = SessionId{4}}).ok();
  EXPECT_THAT(Take(directory_)->found().proven_dead, ElementsAre(SessionId{4}, SessionId{3}));
}

// Plan: another process acts on what a session leads. Its own process's death ends it neither for
// the next process nor for a guard, now or later: it is never named as the one before.
TEST_F(StateLockTest, ASessionOnWhichAnotherProcessActsIsNeverProvenDead) {
  Take(directory_)->RecordSession({.session = SessionId{1}, .external = true}).ok();
  auto next = Take(directory_);
  EXPECT_TRUE(next->found().proven_dead.empty());
  EXPECT_THAT(next->found().no_proof, HasSubstr("another process acts"));
  ASSERT_TRUE(next->RecordSession({.session = SessionId{2}}).ok());
  next.reset();
  EXPECT_THAT(Take(directory_)->found().proven_dead, ElementsAre(SessionId{2}));
  {
    auto external = Take(directory_);
    ASSERT_TRUE(external->RecordSession({.session = SessionId{3}, .external = true}).ok());
    ASSERT_TRUE(external->RecordSession({.session = SessionId{4}, .external = true}).ok());
  }
  EXPECT_THAT(Take(directory_)->found().proven_dead, ElementsAre(SessionId{2}));
}

// Plan: a node that leaves in order names no session: nothing is to be proven, and there is nothing
// to say.
TEST_F(StateLockTest, ANodeThatLeftInOrderLeavesNothing) {
  Take(directory_)->RecordSession({.session = SessionId{1}}).ok();
  StateLockOptions guarded{.guarded = true};
  {
    auto node = StateLock::Take(directory_, "orders", "n1", guarded);
    ASSERT_TRUE(node.ok());
    ASSERT_TRUE(node.value()->RecordSession({.session = SessionId{2}}).ok());
    ASSERT_TRUE(node.value()->RecordSession({}).ok());
  }
  auto next = StateLock::Take(directory_, "orders", "n1", guarded);
  ASSERT_TRUE(next.ok());
  EXPECT_TRUE(next.value()->found().proven_dead.empty());
  EXPECT_EQ(next.value()->found().no_proof, "");
}

// Plan: a process that never had a session ends in order. Its predecessor stays named.
TEST_F(StateLockTest, AnEndWithoutASessionLeavesThePredecessorNamed) {
  Take(directory_)->RecordSession({.session = SessionId{1}}).ok();
  EXPECT_TRUE(Take(directory_)->RecordSession({}).ok());
  EXPECT_THAT(Take(directory_)->found().proven_dead, ElementsAre(SessionId{1}));
}

// Plan: guards are wanted. The file says so on a file system whose lock is a proof and outlives the
// descriptors; on overlayfs only if the program keeps its descriptors; without a proof never.
TEST_F(StateLockTest, TellsGuardsToActOnlyIfTheLockLasts) {
  const auto guarded = [](const std::string& directory, StateLockOptions options) {
    options.guarded = true;
    auto lock = StateLock::Take(directory, "orders", "n1", options);
    EXPECT_TRUE(lock.ok() && lock.value()->RecordSession({.session = SessionId{1}}).ok());
    std::ifstream file(StateFileIn(directory));
    return ParseStateFile({std::istreambuf_iterator<char>(file), {}})->guarded;
  };
  EXPECT_TRUE(guarded(directory_, {}));
  const std::string ramfs = directory_ + "/ramfs";
  const std::string overlay = directory_ + "/merged";
  for (const char* part : {"/ramfs", "/lower", "/upper", "/work", "/merged"}) {
    std::filesystem::create_directory(directory_ + part);
  }
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, "") != 0 ||
      mount("baton-test", ramfs.c_str(), "ramfs", 0, "") != 0) {
    GTEST_SKIP() << "mounting needs root";
  }
  EXPECT_FALSE(guarded(ramfs, {}));
  umount2(ramfs.c_str(), MNT_DETACH);
  const std::string layers = "lowerdir=" + directory_ + "/lower,upperdir=" + directory_ +
                             "/upper,workdir=" + directory_ + "/work";
  if (mount("baton-test", overlay.c_str(), "overlay", 0, layers.c_str()) != 0) {
    GTEST_SKIP() << "no overlayfs here";
  }
  EXPECT_FALSE(guarded(overlay, {}));
  EXPECT_TRUE(guarded(overlay, {.keeps_descriptors = true}));
  umount2(overlay.c_str(), MNT_DETACH);
}

// Plan: the program closes all descriptors that it does not know, and opens other files, which get
// their numbers. The lock stays, and the node writes into no file that is not its own.
TEST_F(StateLockTest, AProgramThatClosesDescriptorsKeepsTheLock) {
  auto node = Take(directory_);
  ASSERT_TRUE(node->RecordSession({.session = SessionId{1}}).ok());
  const std::string other = directory_ + "/other";
  for (int file = 3; file < 64; ++file) {
    struct stat named {};
    struct stat opened {};
    if (stat(File().c_str(), &named) != 0 || fstat(file, &opened) != 0) continue;
    if (named.st_ino != opened.st_ino) continue;
    close(file);
    ASSERT_EQ(open(other.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600), file);
  }
  EXPECT_FALSE(StateLock::Take(directory_, "orders", "n1").ok()) << "the lock stays";
  const Status written = node->RecordHighest(Revision{5});
  ASSERT_FALSE(written.ok());
  EXPECT_THAT(written.error().message, HasSubstr("closed its descriptor"));
  EXPECT_EQ(std::filesystem::file_size(other), 0u);
  node.reset();
  EXPECT_THAT(Take(directory_)->found().proven_dead, ElementsAre(SessionId{1}));
}

// Plan: the file is copied to another directory: the content is right, but the inode is another
// one.
TEST_F(StateLockTest, ACopiedFileProvesNothing) {
  Take(directory_)->RecordSession({.session = SessionId{1}}).ok();
  const std::string other = directory_ + "/other";
  std::filesystem::create_directories(other);
  std::filesystem::copy_file(File(), other + "/session.lock");
  const auto lock = Take(other);
  EXPECT_TRUE(lock->found().proven_dead.empty());
  EXPECT_THAT(lock->found().no_proof, HasSubstr("moved or copied"));
}

// Plan: the holder's file is renamed while it runs. It must not name a place that it does not hold,
// and a new file at the path proves nothing.
TEST_F(StateLockTest, ARenamedFileProvesNothing) {
  auto first = Take(directory_);
  std::filesystem::rename(File(), directory_ + "/elsewhere");
  ASSERT_TRUE(first->RecordSession({.session = SessionId{5}}).ok());
  const auto second = Take(directory_);
  EXPECT_TRUE(second->found().proven_dead.empty());
  first.reset();
  std::filesystem::rename(directory_ + "/elsewhere", File());
  EXPECT_TRUE(Take(directory_)->found().proven_dead.empty());
}

// Plan: each byte of the content is damaged in turn. None may become a proof about another session.
TEST_F(StateLockTest, DamageProvesNothing) {
  Take(directory_)->RecordSession({.session = SessionId{4711}}).ok();
  std::string good;
  {
    std::ifstream in(File(), std::ios::binary);
    good.assign(std::istreambuf_iterator<char>(in), {});
  }
  const std::size_t used = good.find('\0');
  ASSERT_NE(used, std::string::npos);
  for (std::size_t i = 0; i < used; ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    {
      std::ofstream out(File(), std::ios::binary | std::ios::in);
      out.write(bad.data(), static_cast<std::streamsize>(bad.size()));
    }
    EXPECT_TRUE(Take(directory_)->found().proven_dead.empty()) << "byte " << i;
  }
}

// Plan: the file says the id of another boot, as after a reboot of the host. Its locks are gone
// with that boot, so a free lock says nothing of the process.
TEST_F(StateLockTest, AFileOfAnEarlierBootProvesNothing) {
  Take(directory_)->RecordSession({.session = SessionId{1}}).ok();
  StateFile content = Content();
  content.boot = "00000000-0000-0000-0000-000000000000";
  std::ofstream(File(), std::ios::binary | std::ios::in) << Format(content);
  const auto lock = Take(directory_);
  EXPECT_TRUE(lock->found().proven_dead.empty());
  EXPECT_THAT(lock->found().no_proof, HasSubstr("rebooted"));
}

// Plan: another node id finds the first one's file, and then the same node id in another group.
TEST_F(StateLockTest, AnotherNodesFileProvesNothing) {
  Take(directory_, "n1")->RecordSession({.session = SessionId{7}}).ok();
  EXPECT_TRUE(Take(directory_, "n2")->found().proven_dead.empty());
  const auto elsewhere = StateLock::Take(directory_, "billing", "n1");
  ASSERT_TRUE(elsewhere.ok()) << elsewhere.error().message;
  EXPECT_TRUE(elsewhere.value()->found().proven_dead.empty());
}

// Plan: a recovery reads the highest revision in a state directory of its group. It gets none from
// the directory of another group's node, also if that group's name begins with the same letters.
TEST_F(StateLockTest, ANoteIsOfOneGroup) {
  Take(directory_, "n1")->RecordHighest(Revision{99}).ok();
  const auto note = StateLock::NoteIn(directory_, "orders");
  ASSERT_TRUE(note.ok()) << note.error().message;
  EXPECT_EQ(note.value().node, "n1");
  EXPECT_EQ(note.value().highest, Revision{99});
  for (const char* group : {"billing", "order"}) {
    const auto other = StateLock::NoteIn(directory_, group);
    ASSERT_FALSE(other.ok()) << group;
    EXPECT_EQ(other.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(other.error().message, HasSubstr("belongs to 'orders/n1'"));
  }
}

// Plan: files that others control, and a revision that no etcd has. A recovery believes none.
TEST_F(StateLockTest, ANoteOfOthersIsNotBelieved) {
  Take(directory_)->RecordHighest(kHighestRevision).ok();
  const auto refusal = [this] {
    const auto note = StateLock::NoteIn(directory_, "orders");
    return note.ok() ? "taken" : note.error().message;
  };
  EXPECT_EQ(refusal(), "taken");
  ASSERT_EQ(chmod(File().c_str(), 0602), 0);
  EXPECT_THAT(refusal(), AllOf(HasSubstr(File()), HasSubstr("(mode 602)"), HasSubstr("--above")));
  ASSERT_EQ(chmod(File().c_str(), 0600), 0);
  std::filesystem::rename(File(), directory_ + "/moved");
  std::filesystem::create_symlink(directory_ + "/moved", File());
  EXPECT_THAT(refusal(), AllOf(HasSubstr(File()), HasSubstr("symbolic link")));
  std::filesystem::remove(File());
  ASSERT_EQ(mkfifo(File().c_str(), 0600), 0);
  EXPECT_THAT(refusal(), HasSubstr("not a regular file"));
  std::filesystem::remove(File());

  Take(directory_)->RecordHighest(Revision{kHighestRevision.value + 1}).ok();
  EXPECT_EQ(refusal(), "'" + File() +
                           "' names revision 1000000000000000001, which no etcd has: "
                           "leave it out, and give --above instead");
}

// Mounts a file system on a folder, in a mount namespace of the test's own. Needs root.
class Mounted {
 public:
  Mounted(const char* type, std::string folder, const std::string& options = "")
      : folder_(std::move(folder)) {
    std::filesystem::create_directories(folder_);
    done_ = unshare(CLONE_NEWNS) == 0 &&
            mount("none", "/", nullptr, MS_REC | MS_PRIVATE, "") == 0 &&
            mount("baton-test", folder_.c_str(), type, 0, options.c_str()) == 0;
  }
  ~Mounted() {
    if (done_) umount2(folder_.c_str(), MNT_DETACH);
  }
  Mounted(const Mounted&) = delete;
  Mounted& operator=(const Mounted&) = delete;
  bool done() const { return done_; }

 private:
  const std::string folder_;
  bool done_ = false;
};

// Plan: ramfs is a file system that nobody listed. A restart there proves nothing and names the
// file system and the flag. The earlier process's revision counts all the same. An operator who
// says that locks hold there gets the proof.
TEST_F(StateLockTest, AFileSystemThatIsNotListedProvesNothingUnlessTheOperatorTrustsIt) {
  const std::string folder = directory_ + "/ramfs";
  const Mounted mounted("ramfs", folder);
  if (!mounted.done()) GTEST_SKIP() << "mounting needs root";
  {
    const auto first = Take(folder);
    EXPECT_THAT(first->found().never_proof,
                HasSubstr("/ramfs/session.lock' is on type 0x858458f6, whose locks do not prove"))
        << "said at the first start, too";
    ASSERT_TRUE(first->RecordSession({.session = SessionId{4711}}).ok());
    ASSERT_TRUE(first->RecordHighest(Revision{99}).ok());
    EXPECT_FALSE(StateLock::Take(folder, "orders", "n1").ok()) << "the lock itself works";
  }
  {
    const auto second = Take(folder);
    EXPECT_TRUE(second->found().proven_dead.empty());
    EXPECT_THAT(second->found().no_proof, HasSubstr("--trust-state-lock"));
    EXPECT_EQ(second->found().highest_committed.value, 99);
  }
  const auto trusting =
      StateLock::Take(folder, "orders", "n1", {.trust = LockTrust::kAnyFileSystem});
  ASSERT_TRUE(trusting.ok());
  EXPECT_EQ(trusting.value()->found().never_proof, "");
  ASSERT_FALSE(trusting.value()->found().proven_dead.empty()) << trusting.value()->found().no_proof;
  EXPECT_EQ(trusting.value()->found().proven_dead.front().value, 4711);
}

// Plan: on overlayfs, a container's own file system. The file comes from a lower layer, an image
// that was made while the node ran: that is a copy. Once the node has opened it for writing, which
// copies it up, the lock holds for every later open, and its end is proof.
TEST_F(StateLockTest, OnOverlayfsALockHoldsAcrossTheCopyUp) {
  for (const char* part : {"/lower", "/upper", "/work"}) {
    std::filesystem::create_directories(directory_ + part);
  }
  Take(directory_ + "/lower")->RecordSession({.session = SessionId{1}}).ok();
  const std::string folder = directory_ + "/merged";
  const Mounted mounted("overlay", folder,
                        "lowerdir=" + directory_ + "/lower,upperdir=" + directory_ +
                            "/upper,workdir=" + directory_ + "/work");
  if (!mounted.done()) GTEST_SKIP() << "mounting needs root, and a kernel with overlayfs";
  const std::ifstream of_the_lower_layer(folder + "/session.lock");  // opened before the copy-up
  {
    const auto first = Take(folder);
    EXPECT_EQ(first->found().never_proof, "");
    EXPECT_TRUE(first->found().proven_dead.empty()) << "the image's file is a copy";
    ASSERT_TRUE(first->RecordSession({.session = SessionId{2}}).ok());
    EXPECT_FALSE(StateLock::Take(folder, "orders", "n1").ok());
    EXPECT_EQ(StateLock::NoteIn(folder, "orders").error().code, ErrorCode::kFailedPrecondition);
  }
  const auto second = Take(folder);
  ASSERT_FALSE(second->found().proven_dead.empty()) << second->found().no_proof;
  EXPECT_EQ(second->found().proven_dead.front().value, 2);
}

// Plan: the file systems that Linux knows, by their numbers. Those of other machines, of programs
// and of unknown kind prove nothing.
TEST(FileSystem, OnlyKnownLocalOnesKeepLocksThatAreProof) {
  for (const std::int64_t type : {0xEF53LL, 0x58465342LL, 0x9123683ELL, 0xF2F52010LL, 0x2FC12FC1LL,
                                  0x01021994LL, 0x794C7630LL}) {
    EXPECT_TRUE(FileSystemOfType(type).locks_are_proof) << std::hex << type;
  }
  const std::pair<std::int64_t, const char*> no_proof[] = {
      {0x6969, "nfs"},         {0xFF534D42, "cifs"}, {0xFE534D42, "smb2"},
      {0x65735546, "fuse"},    {0x00C36400, "ceph"}, {0x0BD00BD0, "lustre"},
      {0x7461636F, "ocfs2"},   {0x01021997, "9p"},   {0xCA451A4E, "bcachefs"},
      {0x1234, "type 0x1234"}, {0, "type 0x0"}};
  for (const auto& [type, name] : no_proof) {
    EXPECT_FALSE(FileSystemOfType(type).locks_are_proof) << name;
    EXPECT_EQ(FileSystemOfType(type).name, name);
  }
}

// Plan: a path below a file can't be a directory.
TEST_F(StateLockTest, ADirectoryThatCannotBeIsRefusedByName) {
  std::ofstream(directory_ + "/file") << "x";
  const auto taken = StateLock::Take(directory_ + "/file/state", "orders", "n1");
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(taken.error().message, HasSubstr("name another one"));
}

}  // namespace
}  // namespace baton::runtime
