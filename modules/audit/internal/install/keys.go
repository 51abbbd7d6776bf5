package install

import (
	"bytes"

	"github.com/writ-automation/writ/ports/proof/keys"
)

// pairEnd is the end of each of the two blocks of a signing.key.
var pairEnd = []byte("-----END PRIVATE KEY-----\n")

// maxPair bounds the size of a signing.key.
const maxPair = 8 << 10

// GenerateKeys returns the contents of a new signing.key: two PKCS#8 PEM blocks, first the checkpoint key, then the
// statement key. All of it is secret.
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

// ParseKeys reads the output of GenerateKeys and accepts nothing else: no text around the blocks, no third block, no
// equal keys. Its error is a keys.FormatInvalid without any of the input.
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

// anyOrigin replaces the origin of a key when only the id matters.
const anyOrigin = "any/e1"

func idOf(k keys.Private) (string, error) {
	origin := ""
	if k.Use() == keys.Checkpoint {
		origin = anyOrigin
	}
	made, err := keys.NewKey(k.Public(), k.Use(), origin)
	return made.ID, err
}
