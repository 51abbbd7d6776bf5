package secrets

import "github.com/writ-automation/writ/ports/secret"

// KeyReader reads private keys.
type KeyReader interface {
	// Unlock returns a private key that is not encrypted, in PEM. An Invalid fault names private_key for an invalid
	// private key, and passphrase for a missing or wrong one. It contains no part of them. A passphrase for a key
	// that needs none is ignored.
	Unlock(private, passphrase secret.Text) (Key, error)
}

// Agents starts ssh agents that serve private keys.
type Agents interface {
	// Start serves keys on a socket in dir, a private directory with a path that is short enough for a socket, and
	// writes the public halves next to it. It serves processes of the client's account only, which owns the socket and
	// the public halves; a nil client is this process's own account. The keys stay in memory.
	Start(dir string, client *Client, keys []Key) (Agent, error)
}

// Client is the account that uses an agent.
type Client struct{ UID, GID int }

// Agent is an ssh agent with the keys of one run.
type Agent interface {
	// Socket is the path of its socket.
	Socket() string
	// PublicKeys are the paths of the public halves, in the order of the keys.
	PublicKeys() []string
	// Close ends every connection, drops the keys and removes the files of Start. It returns when all goroutines have
	// ended.
	Close() error
}
