use super::*;
use crate::lane::Virtual;

fn line(architecture: Architecture, lane: Lane, topology: Topology) -> String {
    counted_line(architecture, lane, topology, false)
}

fn counted_line(architecture: Architecture, lane: Lane, topology: Topology, counted: bool) -> String {
    let machine = Machine { memory_mib: 1025, topology };
    let guest = Guest {
        architecture,
        kernel: Path::new("/k/vmlinuz"),
        initramfs: Path::new("/t/initramfs"),
        command_line: "console=ttyS0 quiet",
        machine: &machine,
        lane,
        console: Console::File("/t/a,b/console".into()),
        port: Path::new("/t/port"),
        orders: Some(Path::new("/t/a,b/orders")),
        counting: counted.then_some(Counting {
            plugin: Path::new("/t/plugin.so"),
            out: Path::new("/t/a,b/counts"),
            landmarks: &[("reads", 0xffff_ffff_8100_0000)],
        }),
        saved_state: None,
    };
    let words = arguments(&guest);
    words.iter().map(|w| w.to_str().unwrap()).collect::<Vec<_>>().join(" ")
}

const TCG: Lane = Lane::Real { accelerator: Accelerator::Tcg, oversubscribed: false };

#[test]
fn the_real_lane_of_two_cpus() {
    let expected = "-no-user-config -nodefaults -no-reboot -display none -machine pc,usb=off,vmport=off \
                    -accel tcg,thread=multi -cpu max -m 1025M -smp 2,sockets=1,cores=2,threads=1 \
                    -chardev file,id=console,path=/t/a,,b/console -serial chardev:console \
                    -chardev file,id=port,path=/t/port,input-path=/t/a,,b/orders -serial chardev:port \
                    -kernel /k/vmlinuz -initrd /t/initramfs -append console=ttyS0 quiet";
    assert_eq!(line(Architecture::X86_64, TCG, Topology::flat(2)), expected);
}

#[test]
fn kvm_gives_the_hosts_cpu() {
    let kvm = Lane::Real { accelerator: Accelerator::Kvm, oversubscribed: false };
    assert!(line(Architecture::X86_64, kvm, Topology::flat(1)).contains("-accel kvm -cpu host -m"));
}

#[test]
fn nodes_share_memory_and_cpus_and_have_distances() {
    let topology = Topology::parse(None, Some("sockets=2,cores=2,nodes=2,distance=10:21/31:10")).unwrap();
    let line = line(Architecture::X86_64, TCG, topology);
    let expected = "-smp 4,sockets=2,cores=2,threads=1 -object memory-backend-ram,id=memory0,size=513M \
                    -numa node,nodeid=0,memdev=memory0,cpus=0-1 -object memory-backend-ram,id=memory1,size=512M \
                    -numa node,nodeid=1,memdev=memory1,cpus=2-3 -numa dist,src=0,dst=1,val=21 \
                    -numa dist,src=1,dst=0,val=31 ";
    assert!(line.contains(expected), "{line}");
}

#[test]
fn the_virtual_lane_lets_nothing_of_the_host_in() {
    let lane = Lane::Virtual(Virtual { shift: 7, seed: 3, quantum_us: Some(100), dither_us: 0 });
    let line = line(Architecture::X86_64, lane, Topology::flat(2));
    let expected = "-accel tcg,thread=single -icount shift=7,sleep=off -rtc base=2024-01-01T00:00:00,clock=vm \
                    -cpu max,-rdrand,-rdseed -seed 1 -netdev hubport,hubid=0,id=quantum \
                    -object filter-buffer,id=turns,netdev=quantum,interval=100 -m";
    assert!(line.contains(expected), "{line}");
    assert!(!line.contains("-plugin"));
    let line = counted_line(Architecture::X86_64, lane, Topology::flat(2), true);
    assert!(line.contains(" -plugin file=/t/plugin.so,out=/t/a,,b/counts,reads=ffffffff81000000 -kernel "), "{line}");
}

#[test]
fn a_guest_that_is_kept_stops_itself_and_goes_on_without_the_hosts_time() {
    let words = |from| {
        let mut line = Line::default();
        save_or_restore(&mut line, SaveOrRestore { restored_job: Path::new("/t/a,b"), from });
        line.0.iter().map(|w| w.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    };
    let both = "-device pvpanic -fw_cfg name=opt/schedlab/handed,file=/t/a,,b -chardev stdio,id=monitor,signal=off \
                -mon chardev=monitor,mode=control";
    assert_eq!(words(None), format!("{both} -action panic=pause"));
    let restored = "-incoming file:/c/1.state -global migration.announce-rounds=0";
    assert_eq!(words(Some(Path::new("/c/1.state"))), format!("{both} {restored}"));
}

#[test]
fn arm_has_its_own_machine_and_port() {
    let line = line(Architecture::Aarch64, TCG, Topology::flat(1));
    assert!(line.contains("-machine virt -accel tcg,thread=multi") && line.contains("-device pci-serial,chardev=port"));
}
