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
	// Start serves keys on a socket in dir, a private directory whose path is short enough for one, and writes the
	// public halves beside it. The keys are in memory alone.
	Start(dir string, keys []Key) (Agent, error)
}

// Agent is an ssh agent with the keys of one run.
type Agent interface {
	// Socket is the path of its socket.
	Socket() string
	// PublicKeys are the paths of the public halves, in the order of the keys.
	PublicKeys() []string
	// Close ends every connection, forgets the keys and removes what Start wrote. It returns when nothing runs any more.
	Close() error
}
