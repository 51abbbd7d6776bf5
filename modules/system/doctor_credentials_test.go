package system_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	module "github.com/writ-automation/writ/modules/system"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/system"
)

// fakeCredentials holds credentials with their sealed texts, "key:record", and other sealed texts.
type fakeCredentials struct {
	secrets.Store
	list         []secrets.Credential
	sealed       map[string]string // by credential
	gone         map[string]bool
	reads        map[string]error
	opens        map[string]error // by record
	listing      error
	sealedStores []secrets.SealedStore
	current      string
}

func (s *fakeCredentials) ListCredentials(
	_ context.Context, sc access.Scope, f secrets.Filter, w page.Window,
) ([]secrets.Credential, int, error) {
	if s.listing != nil || !reflect.DeepEqual(f, secrets.Filter{}) {
		return nil, 0, s.listing
	}
	return slice(sc, w, s.list)
}

func (s *fakeCredentials) SealedByID(_ context.Context, id string) (secrets.Credential, []byte, error) {
	at := slices.IndexFunc(s.list, func(c secrets.Credential) bool { return c.ID == id })
	if at < 0 || s.gone[id] {
		return secrets.Credential{}, nil, fault.Missing("credential", id)
	}
	return s.list[at], []byte(s.sealed[id]), s.reads[id]
}

func (s *fakeCredentials) Seal(context.Context, string, []byte) ([]byte, error) {
	return nil, errors.New("a check seals nothing")
}

func (s *fakeCredentials) Open(_ context.Context, record string, sealed []byte) ([]byte, error) {
	if !bytes.HasSuffix(sealed, []byte(":"+record)) {
		return nil, &fault.Error{Kind: fault.Internal, Message: "sealed for another record"}
	}
	return []byte("secret"), s.opens[record]
}

func (s *fakeCredentials) check(t *testing.T) *module.CredentialCheck {
	t.Helper()
	return module.NewCredentialCheck(module.CredentialParams{
		Credentials: s, Sealer: s, SealedStores: s.sealedStores, HasEngine: func(name string) bool { return name == "vault" },
		KeyID: func() string { return s.current }, KeyOf: func(sealed []byte) (string, error) {
			key, _, ok := strings.Cut(string(sealed), ":")
			if !ok {
				return "", errors.New("no sealed form")
			}
			return key, nil
		},
	})
}

// fakeSealedStore holds sealed texts by number.
type fakeSealedStore struct {
	noun  string
	texts []string
	fails error
}

func (k *fakeSealedStore) Name() string { return k.noun }

func (k *fakeSealedStore) ListSealed(_ context.Context, after string, limit int) ([]secrets.Sealed, error) {
	var out []secrets.Sealed
	for i, text := range k.texts {
		if key := fmt.Sprintf("%06d", i); key > after && len(out) < limit {
			out = append(out, secrets.Sealed{Key: key, Text: []byte(text)})
		}
	}
	return out, k.fails
}

func (k *fakeSealedStore) Reseal(context.Context, secrets.Sealed, []byte) (bool, error) {
	return false, errors.New("a check reseals nothing")
}

func credential(n int, name, engine string, has bool) secrets.Credential {
	c := secrets.Credential{Record: object.Record{ID: id(ids.Credential, n), Name: name}, Kind: secrets.Token,
		HasSecret: has, SecretVersion: 3}
	if engine != "" {
		c.Source = &secrets.Source{Engine: engine}
	}
	return c
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	record := func(n int) string { return secrets.CredentialRecord(id(ids.Credential, n), 3) }
	s := &fakeCredentials{
		current: "k2",
		list: []secrets.Credential{
			credential(1, "plain", "", true), credential(2, "shell", "", false), credential(3, "fetched", "vault", true),
			credential(4, "strange", "acme", true), credential(5, "keyless", "", true), credential(6, "altered", "vault", true),
			credential(7, "swapped", "", true), credential(8, "deleted", "", true), credential(9, "half", "", false),
		},
		gone: map[string]bool{id(ids.Credential, 8): true},
		sealed: map[string]string{
			id(ids.Credential, 1): "k2:" + record(1), id(ids.Credential, 5): "k0:" + record(5),
			id(ids.Credential, 6): "k2:" + record(6),
			id(ids.Credential, 7): "k2:" + record(1), id(ids.Credential, 9): "k1:" + record(9),
		},
		opens: map[string]error{
			record(5): secrets.KeyLost.New("the key is gone"), record(6): &fault.Error{Kind: fault.Internal, Message: "altered"},
		},
		sealedStores: []secrets.SealedStore{
			&fakeSealedStore{noun: "credentials", texts: append(slices.Repeat([]string{"k2:x"}, 450), "k1:x", "k0:x")},
			&fakeSealedStore{noun: "triggers", texts: []string{"k2:x", "k1:x", "odd"}},
			&fakeSealedStore{noun: "targets", texts: []string{"k2:x"}}, &fakeSealedStore{noun: "leases"},
		},
	}
	looks(t, s.check(t), 9,
		"error credential altered: the sealed secret of the credential was altered, or belongs to another object "+
			"/v1/credentials/{id}",
		"error credential keyless: the key that sealed the secret of the credential is missing /v1/credentials/{id}",
		"error credential strange: its secret comes from the engine acme, which this server does not have "+
			"/v1/credentials/{id}",
		"error credential swapped: the sealed secret of the credential was altered, or belongs to another object "+
			"/v1/credentials/{id}",
		"error  : 1 of 3 sealed triggers have a format that this server cannot read ",
		"warning credential half: the credential has no secret, so that no run can have it /v1/credentials/{id}",
		"warning credential shell: the credential has no secret, so that no run can have it /v1/credentials/{id}",
		"info  : 2 of 452 sealed credentials use another key than the current one ",
		"info  : 1 of 3 sealed triggers use another key than the current one ")
	s = &fakeCredentials{sealedStores: []secrets.SealedStore{&fakeSealedStore{noun: "triggers",
		texts: []string{"k1:x"}}}} // without any key
	looks(t, s.check(t), 0)
	many := &fakeSealedStore{noun: "triggers", texts: slices.Repeat([]string{"k1:x"}, 10_500)}
	s = &fakeCredentials{current: "k2", sealedStores: []secrets.SealedStore{many}}
	looks(t, s.check(t), 0, "info  : 10000 of 10000 sealed triggers use another key than the current one ")
}

// TestCredentialsThatCannotBeExamined: the check skips faulty credentials, and stops if the store fails.
func TestCredentialsThatCannotBeExamined(t *testing.T) {
	t.Parallel()
	odd, away := errors.New("odd"), &fault.Error{Kind: fault.Unavailable, Message: "away"}
	first := id(ids.Credential, 1)
	for name, c := range map[string]struct {
		credentials fakeCredentials
		goesOn      bool
	}{
		"one is odd":         {fakeCredentials{reads: map[string]error{first: odd}}, true},
		"one is away":        {fakeCredentials{reads: map[string]error{first: away}}, false},
		"the sealer is away": {fakeCredentials{opens: map[string]error{secrets.CredentialRecord(first, 3): away}}, false},
		"the list is away":   {fakeCredentials{listing: away}, false},
		"a holder is away": {fakeCredentials{current: "k",
			sealedStores: []secrets.SealedStore{&fakeSealedStore{fails: away}}}, true},
		"a holder is strange": {fakeCredentials{current: "k",
			sealedStores: []secrets.SealedStore{&fakeSealedStore{fails: odd}}}, true},
	} {
		s := &c.credentials
		s.list = []secrets.Credential{credential(1, "a", "", true), credential(2, "shell", "", false)}
		s.sealed = map[string]string{first: "k:" + secrets.CredentialRecord(first, 3)}
		got, err := s.check(t).Examine(t.Context())
		if err == nil || (len(got.Findings) == 1) != c.goesOn {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := &fakeCredentials{list: []secrets.Credential{credential(1, "a", "", true)}}
	if _, err := s.check(t).Examine(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

var _ system.Check = (*module.CredentialCheck)(nil)
