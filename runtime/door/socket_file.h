// A listening Unix socket at a path, which only its own user may connect to.
//
//   nothing at the path               bound
//   a socket that nobody listens at   taken away, as a server that has crashed leaves one; bound
//   a socket that somebody has        an error, with the process that has it
//   anything else                     an error, and it stays as it is
//
// The socket has mode 0600 before anybody can connect: it is bound, its mode is set, and only then
// it listens. So the process's umask, which all threads share, is left alone. Two servers that
// start at once are told apart by a lock on the folder.
//
// A folder in which anybody may rename files is an error: another user could put a socket of his
// own there, which tools would then talk to. Folders such as /tmp, where one may rename one's own
// alone, are fine.
//
// Threads: like a container.
#ifndef GRAPHTREE_RUNTIME_DOOR_SOCKET_FILE_H_
#define GRAPHTREE_RUNTIME_DOOR_SOCKET_FILE_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace graphtree {

// An error that says why, if no socket can have this path: it is empty, or too long for the system.
absl::Status CheckSocketPath(const std::string& path);

class SocketFile {
 public:
  static absl::StatusOr<std::unique_ptr<SocketFile>> Listen(const std::string& path);
  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;
  // Closes, and takes the file away if it is still the one that was made; not in a process that was
  // forked since, where it is the parent's.
  ~SocketFile();

  int fd() const { return fd_; }
  const std::string& path() const { return path_; }

 private:
  explicit SocketFile(std::string path);
  absl::Status Bind();
  bool IsOurs() const;

  const std::string path_;
  const std::string place_;  // the same from the root on, as the process may change its folder
  const pid_t owner_;
  int fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_DOOR_SOCKET_FILE_H_
