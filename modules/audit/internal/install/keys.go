package install

import (
	"bytes"

	"github.com/writ-automation/writ/ports/proof/keys"
)

// pairEnd is what each of the two blocks of a signing.key ends with.
var pairEnd = []byte("-----END PRIVATE KEY-----\n")

// maxPair bounds what is read as a signing.key.
const maxPair = 8 << 10

// GenerateKeys makes the contents of a signing.key: two PKCS#8 PEM blocks, the checkpoint key and behind it the
// statement key. It is a secret as a whole.
func GenerateKeys() ([]byte, error) {
	var out []byte
	for _, use := range []keys.Use{keys.Checkpoint, keys.Statement} {
		k, err := keys.Generate(use)
		if err != nil {
			return nil, err
		}
		block, err := keys.MarshalPrivate(k)
		if err != nil {
			return nil, err
		}
		out = append(out, block...)
	}
	return out, nil
}

// ParseKeys reads what GenerateKeys made and nothing else: no text around the blocks, no third one, and two different
// keys. Its error is a keys.FormatInvalid and never repeats what it read.
func ParseKeys(pem []byte) (checkpoint, statement keys.Private, err error) {
	bad := keys.FormatInvalid.New("a signing key is two PKCS#8 PEM blocks of different Ed25519 keys, one after the other")
	first, second, ok := bytes.Cut(pem, pairEnd)
	if !ok || len(pem) > maxPair {
		return keys.Private{}, keys.Private{}, bad
	}
	first = append(bytes.Clone(first), pairEnd...)
	if checkpoint, err = keys.ParsePrivate(first, keys.Checkpoint); err != nil {
		return keys.Private{}, keys.Private{}, bad
	}
	if statement, err = keys.ParsePrivate(second, keys.Statement); err != nil {
		return keys.Private{}, keys.Private{}, bad
	}
	if checkpoint.Public().Equal(statement.Public()) {
		return keys.Private{}, keys.Private{}, bad
	}
	return checkpoint, statement, nil
}

// pair is the signing key of this server.
type pair struct {
	checkpoint, statement     keys.Private
	checkpointID, statementID string
}

func newPair(pem []byte) (*pair, error) {
	if len(pem) == 0 {
		return nil, nil
	}
	c, s, err := ParseKeys(pem)
	if err != nil {
		return nil, err
	}
	p := &pair{checkpoint: c, statement: s}
	if p.checkpointID, err = idOf(c); err != nil {
		return nil, err
	}
	p.statementID, err = idOf(s)
	return p, err
}

// anyOrigin stands for the origin of a key of which nothing but the id is asked.
const anyOrigin = "any/e1"

func idOf(k keys.Private) (string, error) {
	origin := ""
	if k.Use() == keys.Checkpoint {
		origin = anyOrigin
	}
	made, err := keys.NewKey(k.Public(), k.Use(), origin)
	return made.ID, err
}
