package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-automation/writ/ports/identity"
)

// passwordFlags read a password without a command-line argument, which other users of the machine could read.
type passwordFlags struct{ ask, stdin bool }

func (f *passwordFlags) register(c *cobra.Command) {
	c.Flags().BoolVar(&f.ask, "password", false, "ask for a password on the terminal")
	c.Flags().BoolVar(&f.stdin, "password-stdin", false, "read a password from the first line of standard input")
}

// maxPasswordInput is the limit of a password, in bytes.
const maxPasswordInput = 8 << 10

// read returns the password that the flags request, nil if none does.
func (f *passwordFlags) read(w environment) (*identity.Password, error) {
	switch {
	case f.ask && f.stdin:
		return nil, usageError{errors.New("use one of --password and --password-stdin, not both")}
	case f.stdin:
		raw, err := io.ReadAll(io.LimitReader(w.in, maxPasswordInput))
		if err != nil {
			return nil, fmt.Errorf("read the password: %w", err)
		}
		line, _, _ := strings.Cut(string(raw), "\n")
		return newPassword(strings.TrimSuffix(line, "\r"))
	case f.ask:
		return askPassword(w)
	default:
		return nil, nil
	}
}

func askPassword(w environment) (*identity.Password, error) {
	if !isTerminal(w.in) {
		return nil, usageError{errors.New("--password needs a terminal; use --password-stdin without one")}
	}
	var typed [2]string
	for i, prompt := range []string{"Password: ", "Again: "} {
		var err error
		if typed[i], err = hiddenLine(w, prompt); err != nil {
			return nil, err
		}
	}
	if typed[0] != typed[1] {
		return nil, errors.New("the two passwords differ")
	}
	return newPassword(typed[0])
}

// newPassword refuses an empty password: the account would silently have none.
func newPassword(text string) (*identity.Password, error) {
	if text == "" {
		return nil, errors.New("the password is empty")
	}
	p := identity.Password(text)
	return &p, nil
}
