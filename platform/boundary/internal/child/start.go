package child

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

// EndNow is the signal that ends everything inside at once.
const EndNow = syscall.SIGUSR1

func watchSignals() <-chan os.Signal {
	ch := make(chan os.Signal, 8)
	signal.Notify(ch, syscall.SIGTERM, syscall.SIGINT, EndNow)
	return ch
}

// thread is the restricted thread. It starts the tool and then sends signals: from inside of the scope they reach the
// run and nothing else.
type thread struct {
	started chan failure
	kills   chan syscall.Signal
	killed  chan bool
}

// start starts the tool from a thread that is restricted, and lets that thread live: the kernel ends the tool with the
// thread that started it. In a boundary without an account or a namespace of its own the tool could signal this whole
// process by way of that thread, so there it ends.
func (b *boundary) start() failure {
	b.thread = &thread{make(chan failure), make(chan syscall.Signal), make(chan bool)}
	go b.serveThread()
	return <-b.thread.started
}

func (b *boundary) serveThread() {
	runtime.LockOSThread() // and never unlocked: the thread ends with this function
	f := restrict(&b.plan)
	if f.err == nil && !b.plan.trial() {
		f = b.launch()
	}
	b.thread.started <- f
	if f.err != nil || !b.protected() {
		return
	}
	// Where signals can leave the scope after all, one for everything would reach the whole machine.
	inside := b.plan.PIDNamespace || b.plan.Scope && syscall.Kill(os.Getppid(), 0) == syscall.EPERM
	for sig := range b.thread.kills {
		if inside {
			_ = syscall.Kill(-1, sig)
		}
		b.thread.killed <- inside
	}
}

// protected reports whether no process of the tool can signal this one.
func (b *boundary) protected() bool { return b.plan.PIDNamespace || b.plan.UID >= 0 }

func (b *boundary) launch() failure {
	p := &b.plan
	files := []uintptr{0, 1, 2}
	for i := range p.Files {
		files = append(files, uintptr(FirstFile+i))
	}
	attr := &syscall.ProcAttr{Dir: p.Dir, Env: p.Env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true}}
	if b.protected() {
		attr.Sys.Pdeathsig = syscall.SIGKILL
	}
	if p.UID >= 0 {
		c := &syscall.Credential{Uid: uint32(p.UID), Gid: uint32(p.GID)}
		for _, g := range p.Groups {
			c.Groups = append(c.Groups, uint32(g))
		}
		attr.Sys.Credential = c
	}
	path, err := p.find()
	if err != nil {
		return failure{"find " + p.Path + " in the image", err}
	}
	pid, err := syscall.ForkExec(path, p.Args, attr)
	if err != nil {
		return failure{"start " + p.Path, err}
	}
	b.tool = pid
	for i := range p.Files { // the tool has them, and their ends must not wait for this process
		_ = syscall.Close(FirstFile + i)
	}
	return failure{}
}
