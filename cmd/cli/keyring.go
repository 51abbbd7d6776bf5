package cli

import (
	"errors"

	system "github.com/zalando/go-keyring"
)

var (
	errNoKeyring = errors.New("there is no keyring")
	errNoSecret  = errors.New("it has no such secret")
)

// systemKeyring is the keyring of the system: the Secret Service on Linux, the Keychain on macOS.
type systemKeyring struct{}

func (systemKeyring) Get(service, user string) (string, error) {
	text, err := system.Get(service, user)
	return text, secretFault(err)
}

func (systemKeyring) Set(service, user, secret string) error {
	return secretFault(system.Set(service, user, secret))
}

func (systemKeyring) Delete(service, user string) error {
	return secretFault(system.Delete(service, user))
}

func secretFault(err error) error {
	if errors.Is(err, system.ErrNotFound) {
		return errNoSecret
	}
	return err
}
