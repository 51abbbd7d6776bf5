package ansible

import (
	"context"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/writ-automation/writ/adapters/tools/proc"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
)

// checkLogin returns an Invalid fault for a login whose values could be parsed as something else.
func checkLogin(l execution.Login) error {
	for what, value := range map[string]string{"user": l.User, "become method": l.BecomeMethod,
		"become user": l.BecomeUser} {
		if err := refuse(what, value); err != nil {
			return err
		}
	}
	for _, v := range l.Vaults {
		if err := refuse("vault id", v.ID); err != nil {
			return err
		}
		if v.ID == "" || strings.Contains(v.ID, "@") { // the first @ ends the id
			return &fault.Error{Kind: fault.Invalid, Message: "A vault id must not be empty or hold the character @."}
		}
	}
	return nil
}

// loginArguments returns the arguments for the remote user and the password files. Ansible uses them unless the
// inventory or the play sets its own.
func loginArguments(l execution.Login) []string {
	var args []string
	if l.User != "" {
		args = append(args, "--user="+l.User)
	}
	if l.PasswordFile != "" {
		args = append(args, "--connection-password-file="+l.PasswordFile)
	}
	if l.BecomePasswordFile != "" {
		args = append(args, "--become-password-file="+l.BecomePasswordFile)
	}
	return append(args, vaultArguments(l)...)
}

func vaultArguments(l execution.Login) []string {
	var args []string
	for _, v := range l.Vaults {
		args = append(args, "--vault-id="+v.ID+"@"+v.Path)
	}
	return args
}

// loginEnvironment sets what has no argument. The playbook decides whether to become another user, the credential
// decides how. The public key makes ssh offer the agent's key first, and only this key if IdentitiesOnly is set.
func loginEnvironment(env map[string]string, l execution.Login) {
	for name, value := range map[string]string{
		"ANSIBLE_BECOME_METHOD": l.BecomeMethod, "ANSIBLE_BECOME_USER": l.BecomeUser,
		"ANSIBLE_PRIVATE_KEY_FILE": l.PublicKeyFile,
	} {
		if value != "" {
			env[name] = value
		}
	}
}

// passwords returns the setting by which Ansible answers ssh's prompt for a password: nil for its own way. From 2.19 on
// that is its program `ansible`, which reads the password from shared memory. Where one of them is missing it is
// sshpass, as in older versions, which do not know the setting.
func (t *Tool) passwords(ctx context.Context, env map[string]string) []setting {
	path, err := t.executable(ctx, env, "ansible")
	if err == nil && unix.Access(path, unix.X_OK) == nil && unix.Access(sharedMemory, unix.W_OK) == nil {
		return nil
	}
	if _, err := proc.LookPath(ctx, env, "sshpass"); err != nil {
		return nil // Ansible's own error says more
	}
	return []setting{{"sshpass", []string{"ANSIBLE_SSH_PASSWORD_MECHANISM"},
		[][2]string{{sshSection, "password_mechanism"}}}}
}

// sharedMemory is where processes share memory by name.
const sharedMemory = "/dev/shm"

// forget removes the password files. It ignores errors: files that remain are removed with the run's directory.
func forget(l execution.Login) {
	for _, path := range []string{l.PasswordFile, l.BecomePasswordFile} {
		if path != "" {
			_ = os.Remove(path)
		}
	}
	for _, v := range l.Vaults {
		_ = os.Remove(v.Path)
	}
}
