package container

import (
	"fmt"
	"strings"
)

// enrootEnv says where enroot keeps what; the rest is its own configuration's.
func (d Dirs) enrootEnv(o *Options) []string {
	env := []string{"ENROOT_DATA_PATH=" + d.Run + "/root", "ENROOT_RUNTIME_PATH=" + d.Run + "/enroot", "ENROOT_CACHE_PATH=" + d.Images + "/enroot"}
	for _, c := range [...]struct {
		name   string
		choice Choice
	}{{"ENROOT_MOUNT_HOME", o.MountHome}, {"ENROOT_REMAP_ROOT", o.RemapRoot}, {"ENROOT_ROOTFS_WRITABLE", o.Writable}} {
		switch c.choice {
		case Yes:
			env = append(env, c.name+"=y")
		case No:
			env = append(env, c.name+"=n")
		}
	}
	for _, ns := range o.Unshare {
		env = append(env, "ENROOT_UNSHARE_"+strings.ToUpper(ns)+"=y")
	}
	return env
}

// EnrootImport writes an image of a registry to a squashfs file.
func EnrootImport(d Dirs, o *Options, m *Image, file string) Command {
	return Command{[]string{"enroot", "import", "--output", file, m.enroot(o.Image)}, d.enrootEnv(o)}
}

// EnrootCreate unpacks a squashfs file as the container name.
func EnrootCreate(d Dirs, o *Options, name, file string) Command {
	return Command{[]string{"enroot", "create", "--name", name, file}, d.enrootEnv(o)}
}

// EnrootStart starts a process in a container, as conf has it.
func EnrootStart(d Dirs, o *Options, name, conf string, argv []string) Command {
	return Command{append([]string{"enroot", "start", "--conf", conf, name}, argv...), d.enrootEnv(o)}
}

// EnrootExport writes a container to a squashfs file.
func EnrootExport(d Dirs, o *Options, name, file string) Command {
	return Command{[]string{"enroot", "export", "-f", "-o", file, name}, d.enrootEnv(o)}
}

// EnrootConf is the script by which enroot start learns of mounts, of whether the image's entry
// point is run, and of variables.
func EnrootConf(o *Options, binds []Bind) string {
	var b strings.Builder
	b.WriteString("mounts() {\n")
	for _, m := range binds { // before the user's, which may lie within
		fmt.Fprintf(&b, "\techo %s\n", quoted(fstab(m.Path)+" "+fstab(m.Path)+" x-create=auto,rbind"+m.flag()))
	}
	for _, m := range o.Mounts {
		flags := "x-create=auto,rbind"
		switch m.Source {
		case "tmpfs":
			flags = "x-create=dir"
		case "umount":
			flags = "x-detach"
		}
		fmt.Fprintf(&b, "\techo %s\n", quoted(fstab(m.Source)+" "+fstab(m.Target)+" "+strings.Join(append([]string{flags}, m.Flags...), ",")))
	}
	b.WriteString("}\n")
	if o.Entrypoint != Yes {
		b.WriteString("hooks() {\n\techo 'exec \"$@\"' > ${ENROOT_ROOTFS}/etc/rc.local\n}\n")
	}
	if len(o.Env) > 0 {
		b.WriteString("environ() {\n")
		for _, name := range o.Env {
			fmt.Fprintf(&b, "\t[ -n \"${%s-}\" ] && echo \"%s=${%s}\" || :\n", name, name, name)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// fstab writes a path as a field of fstab(5).
func fstab(path string) string {
	return strings.NewReplacer(`\`, `\134`, " ", `\040`, "\t", `\011`, "\n", `\012`, "#", `\043`).Replace(path)
}

// quoted is one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
