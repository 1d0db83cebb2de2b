package manager_test

import (
	"context"
	"fmt"
	"os"
	"path"

	"github.com/stratalog/strata/fsio/aferofs"
	"github.com/stratalog/strata/manager"
)

// A directory of three partitions, one of which is being deleted, and something that is none.
func ExampleOpenView() {
	fsys := aferofs.Mem()
	for name, content := range map[string]string{
		"meta.properties":                                                        "version=1\nnode.id=7\ncluster.id=mine\n",
		"recovery-point-offset-checkpoint":                                       "0\n1\norders 0 42\n",
		"orders-0/00000000000000000000.log":                                      "",
		"orders-1/00000000000000000000.log":                                      "",
		"old-0.131d091d1c14421fa24f76acf770a0ed-delete/00000000000000000000.log": "",
		"lost+found/readme":                                                      "",
	} {
		if err := fsys.MkdirAll(path.Dir(name), 0o755); err != nil {
			fmt.Println(err)
			return
		}
		f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			fmt.Println(err)
			return
		}
		if _, err := f.WriteAt([]byte(content), 0); err != nil {
			fmt.Println(err)
		}
		if err := f.Close(); err != nil {
			fmt.Println(err)
		}
	}

	v, err := manager.OpenView(context.Background(), fsys)
	if err != nil {
		fmt.Println(err)
		return
	}
	identity, _ := v.Identity()
	fmt.Println(identity.ClusterID, identity.NodeID)
	for _, p := range v.Partitions() {
		fmt.Println(p, p.Role, p.Resume.RecoveryPoint)
	}
	for _, w := range v.Warnings() {
		fmt.Println(w.File, w.Err)
	}
	// Output:
	// mine 7
	// old-0 deleting 0
	// orders-0 current 42
	// orders-1 current 0
	// lost+found "lost+found": it does not end in a dash and a number: manager: invalid name
}
