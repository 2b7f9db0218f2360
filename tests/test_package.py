import ackclock


def test_the_package_and_its_compiled_part_have_one_version():
    from ackclock import _core

    assert ackclock.__version__ == _core.version
