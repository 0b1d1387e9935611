// Package home reads and writes users' files for the daemon with the rights of their users and no more. For each piece of
// work a [Spawner] starts a process that is the user (user, group, all supplementary groups, umask) and speaks to it through
// pipes; [Child] is that process. The kernel decides what it may touch, on network file systems too. Its user may trace it, so
// it has no secret: no environment, no descriptor but the pipes. What comes out of it is the user's own word.
package home
