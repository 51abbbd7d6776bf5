package boundary

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"github.com/writ-automation/writ/platform/boundary/internal/child"
)

// explain adds to a failed step what the operator can do about it.
func explain(err error) string {
	var step *StepError
	if !errors.As(err, &step) {
		return err.Error()
	}
	if remedy := remedy(step); remedy != "" {
		return step.Error() + "; " + remedy
	}
	return step.Error()
}

func remedy(e *StepError) string {
	root := os.Geteuid() == 0
	switch {
	case e.Step == containerStep:
		return containerRemedy(e.Err.Error())
	case e.Step == startStep:
		switch {
		case root:
			return "allow namespaces (the sysctl user.max_pid_namespaces or its like, or the container's seccomp profile)"
		case reads("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"):
			return apparmor
		case errors.Is(e.Err, syscall.ENOSPC):
			return "set the sysctl user.max_user_namespaces above 0"
		}
		return "allow user namespaces (the sysctl kernel.unprivileged_userns_clone or the container's seccomp profile), or " +
			"start the server as root"
	case strings.HasPrefix(e.Step, child.Proc+" "):
		return "/proc is masked, as in a container or by ProtectProc of systemd; remove that"
	case !root && reads("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"):
		return apparmor
	case errors.Is(e.Err, syscall.ENOSYS):
		return "use a kernel from 5.12 on, and a container whose filter permits the call"
	}
	return ""
}

const apparmor = "AppArmor restricts user namespaces: give this program a profile with the rule userns, or set " +
	"the sysctl " +
	"kernel.apparmor_restrict_unprivileged_userns to 0"

func reads(file, want string) bool {
	b, err := os.ReadFile(file)
	return err == nil && strings.TrimSpace(string(b)) == want
}
