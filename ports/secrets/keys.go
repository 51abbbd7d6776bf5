package secrets

import "github.com/writ-automation/writ/ports/secret"

// KeyReader reads private keys.
type KeyReader interface {
	// Unlock returns a private key that is not encrypted, in PEM. An Invalid fault names private_key for what is no
	// private key, and passphrase where that is missing or wrong; neither says anything of them. A passphrase for a key
	// that needs none is ignored.
	Unlock(private, passphrase secret.Text) (Key, error)
}

// Agents serve private keys to ssh.
type Agents interface {
	// Start serves keys on a socket in dir, which nobody else may write, and writes the public halves beside it.
	// It serves processes of the client's account alone, which owns the socket and the public halves; a nil client is
	// this process's own account. The keys are in memory alone.
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
	// Close ends every connection, forgets the keys and removes what Start wrote. It returns when nothing runs any more.
	Close() error
}
