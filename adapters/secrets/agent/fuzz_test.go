package agent

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"encoding/pem"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// FuzzAnswer sends arbitrary requests: a run must not be able to crash the server through its agent.
func FuzzAnswer(f *testing.F) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		f.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		f.Fatal(err)
	}
	s := newServer(nil)
	if err := s.add(secrets.Key{PrivateKey: secret.Text(pem.EncodeToMemory(block))},
		filepath.Join(f.TempDir(), "0.pub")); err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{requestIdentities})
	f.Add(append([]byte{signRequest}, ssh.Marshal(struct {
		Key, Data []byte
		Flags     uint32
	}{s.blobs[0], []byte("data"), 2})...))
	f.Add(append([]byte{signRequest}, binary.BigEndian.AppendUint32(nil, 1<<31)...))
	f.Add([]byte{27, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, request []byte) {
		if len(request) == 0 {
			return
		}
		var answer bytes.Buffer
		if err := s.answer(&answer, append(binary.BigEndian.AppendUint32(nil, uint32(len(request))),
			request...)); err != nil {
			t.Fatal(err)
		}
		b := answer.Bytes()
		if len(b) < 5 || int(binary.BigEndian.Uint32(b)) != len(b)-4 {
			t.Fatalf("%v is answered with %v", request, b)
		}
		if refused := b[4] == agentFailure && len(b) == 5; !refused &&
			(request[0] != requestIdentities && request[0] != signRequest || len(b) < 9) {
			t.Fatalf("%v is answered with %v", request, b)
		}
	})
}
