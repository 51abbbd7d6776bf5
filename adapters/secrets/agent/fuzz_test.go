package agent

import (
	"crypto/ed25519"
	"encoding/binary"
	"encoding/pem"
	"path/filepath"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// FuzzAnswer has requests of anything: a run must not be able to end the server by its agent.
func FuzzAnswer(f *testing.F) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		f.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		f.Fatal(err)
	}
	s := newServer()
	if err := s.add(secrets.Key{PrivateKey: secret.Text(pem.EncodeToMemory(block))}, filepath.Join(f.TempDir(), "0.pub")); err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{requestIdentities})
	f.Add(append([]byte{signRequest}, ssh.Marshal(struct {
		Key, Data []byte
		Flags     uint32
	}{s.keys[0].blob, []byte("data"), 2})...))
	f.Add(append([]byte{signRequest}, binary.BigEndian.AppendUint32(nil, 1<<31)...))
	f.Add([]byte{27, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, request []byte) {
		if len(request) == 0 {
			return
		}
		answer := s.answer(request)
		if ok := answer[0] == failure && len(answer) == 1; !ok && (request[0] != requestIdentities && request[0] != signRequest || len(answer) < 5) {
			t.Fatalf("%v is answered with %v", request, answer)
		}
	})
}
