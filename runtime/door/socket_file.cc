// Looks at what is there, binds, listens.
#include "runtime/door/socket_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

constexpr size_t kMostPathBytes = sizeof(sockaddr_un::sun_path) - 1;
constexpr int kBacklog = 128;

absl::Status Cannot(const char* what, const std::string& path, int error) {
  return absl::UnavailableError(
      absl::StrCat("cannot ", what, " ", path, ": ", std::strerror(error)));
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string FromTheRoot(const std::string& path) {
  if (path[0] == '/') return path;
  char folder[PATH_MAX];
  return getcwd(folder, sizeof(folder)) == nullptr ? path : absl::StrCat(folder, "/", path);
}

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

int ConnectTo(int fd, const std::string& path) {
  const sockaddr_un address = AddressOf(path);
  return connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
}

// Kept while the path is looked at and taken. A file system that has no such locks does without.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder)
      : fd_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}
  ~FolderLock() {
    if (fd_ >= 0) close(fd_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  // False if somebody else keeps it.
  bool Take() {
    constexpr int kMostTries = 1000;
    constexpr std::chrono::milliseconds kPause(1);
    if (fd_ < 0) return true;
    for (int i = 0; i < kMostTries; ++i) {
      if (flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return true;
      std::this_thread::sleep_for(kPause);
    }
    return false;
  }

 private:
  const int fd_;
};

absl::Status CheckFolder(const std::string& folder) {
  struct stat about;
  if (stat(folder.c_str(), &about) != 0) return Cannot("look at the folder", folder, errno);
  if (!S_ISDIR(about.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(folder, " is no folder"));
  }
  if ((about.st_mode & S_IWOTH) == 0 || (about.st_mode & S_ISVTX) != 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("anybody may rename files in ", folder,
                   ", and so put another socket in the place of this one; take a folder that is "
                   "yours, or take that right away: chmod o-w ", folder));
}

// OK if nothing is at the path now.
absl::Status MakeRoom(const std::string& path) {
  struct stat about;
  if (lstat(path.c_str(), &about) != 0) {
    return errno == ENOENT ? absl::OkStatus() : Cannot("look at", path, errno);
  }
  if (!S_ISSOCK(about.st_mode)) {
    return absl::AlreadyExistsError(
        absl::StrCat(path, " is there already, and is no socket; it was left alone"));
  }
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return Cannot("make a socket to ask", path, errno);
  const bool is_there = ConnectTo(fd, path) == 0;
  const int why = errno;
  ucred peer = {};
  socklen_t size = sizeof(peer);
  const bool is_known = is_there && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  close(fd);
  if (is_there || why == EAGAIN) {  // EAGAIN: it has more callers than it can take now
    const std::string who =
        is_known ? absl::StrCat("process ", peer.pid, " of user ", peer.uid) : "a program";
    return absl::AlreadyExistsError(absl::StrCat(path, " is taken: ", who, " answers there"));
  }
  if (why != ECONNREFUSED) return Cannot("ask who has", path, why);
  if (unlink(path.c_str()) != 0) return Cannot("take away the old socket", path, errno);
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSocketPath(const std::string& path) {
  if (path.empty()) return absl::InvalidArgumentError("a socket's path is empty");
  if (path.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError("a socket's path has a zero byte");
  }
  if (path.size() <= kMostPathBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a socket's path has ", path.size(), " bytes, and the system takes ",
                   kMostPathBytes, " at most: ", path));
}

SocketFile::SocketFile(std::string path)
    : path_(std::move(path)), place_(FromTheRoot(path_)), owner_(getpid()) {}

absl::StatusOr<std::unique_ptr<SocketFile>> SocketFile::Listen(const std::string& path) {
  GRAPHTREE_RETURN_IF_ERROR(CheckSocketPath(path));
  const std::string folder = FolderOf(path);
  GRAPHTREE_RETURN_IF_ERROR(CheckFolder(folder));
  FolderLock lock(folder);
  if (!lock.Take()) {
    return absl::UnavailableError(
        absl::StrCat("another program keeps the folder ", folder, " locked, so ", path,
                     " was not opened; try again, or take another folder"));
  }
  GRAPHTREE_RETURN_IF_ERROR(MakeRoom(path));
  std::unique_ptr<SocketFile> file(new SocketFile(path));
  GRAPHTREE_RETURN_IF_ERROR(file->Bind());
  return file;
}

absl::Status SocketFile::Bind() {
  fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0) return Cannot("make a socket for", path_, errno);
  const sockaddr_un address = AddressOf(path_);
  if (bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return Cannot("bind a socket to", path_, errno);
  }
  struct stat about;
  if (lstat(path_.c_str(), &about) != 0) return Cannot("look at", path_, errno);
  device_ = about.st_dev;
  inode_ = about.st_ino;
  if (chmod(path_.c_str(), S_IRUSR | S_IWUSR) != 0 || lstat(path_.c_str(), &about) != 0) {
    return Cannot("keep others from", path_, errno);
  }
  if ((about.st_mode & (S_IRWXG | S_IRWXO)) != 0 || about.st_uid != geteuid()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the file system gives others a right to ", path_,
                     ", whatever is asked of it; take another folder"));
  }
  if (listen(fd_, kBacklog) != 0) return Cannot("listen at", path_, errno);
  return absl::OkStatus();
}

bool SocketFile::IsOurs() const {
  struct stat about;
  return inode_ != 0 && getpid() == owner_ && lstat(place_.c_str(), &about) == 0 &&
         about.st_dev == device_ && about.st_ino == inode_;
}

SocketFile::~SocketFile() {
  if (IsOurs()) unlink(place_.c_str());
  if (fd_ >= 0) close(fd_);
}

}  // namespace graphtree
